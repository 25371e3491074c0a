// Package migrate holds the versioned migrations, a folder of SQL files for each database, in the order of their names. A file that was
// released is never changed: internal/database refuses a folder whose files do not match their checksums (atlas.sum), and a database
// that was migrated with other files.
//
// To make the next files after a change in ent/schema (and `go generate ./ent`):
//
//	go run ./ent/migrate/diff add_something
//
// It replays the files there are into an empty SQLite file and an empty, throw-away PostgreSQL (Debian's package postgresql), compares
// with ent's schema, and writes a file <time>_add_something.sql to each folder that needs one. Read them before they are committed: a
// new column that must not be empty needs a value for the rows that are there, and a table that is gone a DROP TABLE written by hand.
// After editing one: go run ./ent/migrate/diff -hash.
package migrate

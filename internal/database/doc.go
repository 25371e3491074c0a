// Package database opens the one database of a deployment, SQLite in the data folder or PostgreSQL by URL, brings its tables up to
// date, and runs transactions in it.
//
// # Reading and writing
//
// There are two ways in. DB.Read and DB.SQL read: on SQLite through connections that cannot write and never wait for the writer, on
// PostgreSQL through sessions that are read-only. DB.InTx writes: it hands out a Tx, whose Ent client and whose SQL share one
// transaction. On SQLite there is one writer, and InTx waits for it as long as its context lives; on PostgreSQL transactions run side
// by side (READ COMMITTED), and a rule over several rows takes a row lock (ForUpdate) in its transaction. InReadTx reads several times
// at one point in time.
//
// A function given to InTx may run more than once: serialization failures and deadlocks are tried again, a bounded number of times.
// It therefore does nothing but work in its transaction; what the world is to hear goes into Tx.AfterCommit, which runs once, after
// the commit, in order.
//
// # Values
//
// Raw SQL writes its placeholders $1, $2 … on both. Times are stored in UTC and cut to milliseconds, and come back in UTC; Now is a time that
// survives storing unchanged. U+0000 does not fit PostgreSQL's text: who takes text in refuses it there.
//
// # Migrations
//
// ent/migrate/sqlite and ent/migrate/postgres hold the versioned files, embedded; DB.Migrate applies those that are missing, each
// in a transaction with the row that says so (table schema_migrations). Servers that start at the same time wait for each other. See
// ent/migrate for how a file is made.
package database

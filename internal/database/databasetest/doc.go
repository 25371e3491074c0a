// Package databasetest gives each test a fresh, migrated database: SQLite in a folder of its own, or one on a PostgreSQL server that is shared
// by the tests of a process, or, if SCRIPTORIUM_TEST_POSTGRES_URL is set, by all. Without PostgreSQL the tests fail with a sentence.
//
//	databasetest.Each(t, func(t *testing.T, d *database.DB) { … })
//
// Count counts the statements that a piece of code sends.
package databasetest

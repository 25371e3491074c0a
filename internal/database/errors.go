package database

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"entgo.io/ent/dialect/sql/schema"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/scriptorium-dev/scriptorium/ent/db/migrate"
)

// PostgreSQL's codes that we tell apart.
const (
	codeUnique        = "23505"
	codeForeignKey    = "23503"
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
)

// IsUniqueViolation tells whether err comes from a row that would have been there twice, and the name of the unique index (or
// constraint) that it broke: the same name on both databases, as ent/schema's indexes are named, <table>_pkey for a primary key.
func IsUniqueViolation(err error) (constraint string, ok bool) {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.ConstraintName, pg.Code == codeUnique
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	if !ok || (lite.Code() != sqlite3.SQLITE_CONSTRAINT_UNIQUE && lite.Code() != sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY) {
		return "", false
	}
	return sqliteIndex(lite.Error()), true
}

// IsForeignKeyViolation tells whether err comes from a row that names another one that is not there, or that others still name.
func IsForeignKeyViolation(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == codeForeignKey
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code() == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
}

// isTransient tells whether the transaction that failed so may succeed if it is begun again.
func isTransient(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == codeSerialization || pg.Code == codeDeadlock
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code()&0xff == sqlite3.SQLITE_BUSY
}

// sqliteIndex finds the index in SQLite's message, which names its columns only: "UNIQUE constraint failed: agents.organization_id,
// agents.name (2067)". An index that ent does not know keeps that list as its name.
func sqliteIndex(message string) string {
	_, list, _ := strings.Cut(message, "UNIQUE constraint failed: ")
	list, _, _ = strings.Cut(list, " (")
	var table string
	var columns []string
	for _, column := range strings.Split(list, ", ") {
		var name string
		table, name, _ = strings.Cut(column, ".")
		columns = append(columns, name)
	}
	for _, t := range migrate.Tables {
		if t.Name != table {
			continue
		}
		if names(t.PrimaryKey, columns) {
			return table + "_pkey"
		}
		for _, index := range t.Indexes {
			if index.Unique && names(index.Columns, columns) {
				return index.Name
			}
		}
		if len(columns) == 1 { // a column that is unique by itself
			return table + "_" + columns[0] + "_key"
		}
	}
	return list
}

// names tells whether the columns have these names, in this order.
func names(columns []*schema.Column, names []string) bool {
	return slices.EqualFunc(columns, names, func(c *schema.Column, name string) bool { return c.Name == name })
}

// IsUnreachable tells whether err comes from a database that cannot be reached, or that takes no connections now: not a fault of
// the statement, and not of the caller.
func IsUnreachable(err error) bool {
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); connecting {
		return true
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok { // connection exceptions, shutdown and start, too many connections
		return strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "57P0") || pg.Code == "53300"
	}
	_, network := errors.AsType[*net.OpError](err)
	return network || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF)
}

package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
)

// keptStatements is how many statements a connection keeps. Texts are few; the bound is for lists, whose texts differ in length.
const keptStatements = 256

// openKept opens SQLite with connections that keep their statements prepared. Reading a statement's text takes SQLite longer than most
// statements run.
func openKept(dsn string) (*sql.DB, error) {
	plain, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	defer plain.Close() // nothing was opened: it knows the driver
	return sql.OpenDB(keptConnector{plain.Driver(), dsn}), nil
}

type keptConnector struct {
	driver driver.Driver
	dsn    string
}

// Connect implements driver.Connector.
func (c keptConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	full, ok := conn.(sqliteConn)
	if !ok {
		return nil, errors.Join(errors.New("the SQLite driver has changed"), conn.Close())
	}
	return &keptConn{sqliteConn: full, kept: map[string]*keptStmt{}}, nil
}

// Driver implements driver.Connector.
func (c keptConnector) Driver() driver.Driver { return c.driver }

// sqliteConn is what the driver's connections are.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// keptConn is a connection with the statements that it keeps. database/sql uses a connection from one goroutine at a time.
type keptConn struct {
	sqliteConn
	kept map[string]*keptStmt
}

// keptStmt is a statement; busy while its rows are open, for it has one place in them.
type keptStmt struct {
	stmt sqliteStmt
	busy bool
}

// statement is the kept one for a text; nil where it is to be run the plain way.
func (c *keptConn) statement(ctx context.Context, query string) (*keptStmt, error) {
	if s := c.kept[query]; s != nil {
		if s.busy {
			return nil, nil
		}
		return s, nil
	}
	verb, _, _ := strings.Cut(strings.TrimSpace(query), " ")
	switch strings.ToUpper(verb) {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
	default:
		return nil, nil
	}
	if len(c.kept) >= keptStatements && !c.forgetOne() {
		return nil, nil
	}
	stmt, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	full, ok := stmt.(sqliteStmt)
	if !ok {
		return nil, stmt.Close()
	}
	s := &keptStmt{stmt: full}
	c.kept[query] = s
	return s, nil
}

// forgetOne makes room: any that is not in use.
func (c *keptConn) forgetOne() bool {
	for query, s := range c.kept {
		if !s.busy {
			delete(c.kept, query)
			return s.stmt.Close() == nil
		}
	}
	return false
}

// ExecContext implements driver.ExecerContext.
func (c *keptConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.statement(ctx, query)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return c.sqliteConn.ExecContext(ctx, query, args)
	}
	return s.stmt.ExecContext(ctx, args)
}

// QueryContext implements driver.QueryerContext.
func (c *keptConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.statement(ctx, query)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	rows, err := s.stmt.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.busy = true
	return &keptRows{rows, s}, nil
}

// Close implements driver.Conn.
func (c *keptConn) Close() error {
	var errs []error
	for _, s := range c.kept {
		errs = append(errs, s.stmt.Close())
	}
	clear(c.kept)
	return errors.Join(append(errs, c.sqliteConn.Close())...)
}

// keptRows are a kept statement's; with their end it can be used again.
type keptRows struct {
	driver.Rows
	of *keptStmt
}

// Close implements driver.Rows.
func (r *keptRows) Close() error {
	r.of.busy = false
	return r.Rows.Close()
}

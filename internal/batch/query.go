package batch

import (
	"fmt"
	"strings"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

// Query is a page of rows for each of many parents, or of one list, in one statement.
type Query struct {
	// Columns, From and Where are SQL; each column has a name of its own. Args are those of Where, from $1.
	Columns, From, Where string
	Args                 []any
	// Parent is the column of the parent's id, "" for one list.
	Parent  string
	Parents []string
	// Order is the column (or expression) of the sort key, different in all rows of a parent; Desc where the list runs downwards.
	Order string
	Desc  bool
	// After and Before bound the sort key, as Window's keys do, in the column's type; nil: no bound.
	After, Before any
	Window        page.Window
}

// SQL answers the statement and its arguments. Its rows have the columns, and then a number that counts them within their parent; a
// parent has at most Window.Limit+1, in the window's direction.
func (q Query) SQL(dialect string) (string, []any) {
	args := append([]any{}, q.Args...)
	where := []string{"(" + q.Where + ")"}
	bind := func(condition string, arg any) {
		args = append(args, arg)
		where = append(where, fmt.Sprintf("%s$%d", condition, len(args)))
	}
	behind, before := " > ", " < "
	if q.Desc {
		behind, before = before, behind
	}
	if q.After != nil {
		bind(q.Order+behind, q.After)
	}
	if q.Before != nil {
		bind(q.Order+before, q.Before)
	}
	direction := " ASC"
	if q.Desc != q.Window.Backward {
		direction = " DESC"
	}
	order := q.Order + direction
	switch {
	case len(q.Parents) == 1: // an index can end the search
		bind(q.Parent+" = ", q.Parents[0])
	case q.Parent != "":
		args = append(args, List(q.Parents), q.Window.Limit+1)
		return q.each(dialect, strings.Join(where, " AND "), order, len(args)), args
	}
	args = append(args, q.Window.Limit+1)
	return fmt.Sprintf("SELECT %s, ROW_NUMBER() OVER (ORDER BY %s) AS place FROM %s WHERE %s ORDER BY %s LIMIT $%d",
		q.Columns, order, q.From, strings.Join(where, " AND "), order, len(args)), args
}

// each is the statement for many parents, whose list is the last argument but one, and the number of rows the last.
func (q Query) each(dialect, where, order string, last int) string {
	if dialect == database.Postgres { // an index can end each parent's search
		return fmt.Sprintf(`SELECT rows.* FROM jsonb_array_elements_text($%d::jsonb) AS parents(id) CROSS JOIN LATERAL
			(SELECT %s, ROW_NUMBER() OVER (ORDER BY %s) AS place FROM %s WHERE %s AND %s = parents.id ORDER BY %s LIMIT $%d) AS rows ORDER BY place`,
			last-1, q.Columns, order, q.From, where, q.Parent, order, last)
	}
	return fmt.Sprintf(`SELECT * FROM (SELECT %s, ROW_NUMBER() OVER (PARTITION BY %s ORDER BY %s) AS place FROM %s WHERE %s AND %s IN %s) AS pages
		WHERE place <= $%d ORDER BY place`, q.Columns, q.Parent, order, q.From, where, q.Parent, In(dialect, last-1), last)
}

// Bytewise is a text column in the order of its bytes, which is the same on both databases.
func Bytewise(dialect, column string) string {
	if dialect == database.Postgres {
		return column + ` COLLATE "C"`
	}
	return column + " COLLATE BINARY"
}

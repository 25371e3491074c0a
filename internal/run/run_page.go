package run

import "github.com/scriptorium-dev/scriptorium/internal/page"

// Connection is a page of runs, Edge one of them with its cursor.
type (
	Connection = page.Connection[*Run]
	Edge       = page.Edge[*Run]
)

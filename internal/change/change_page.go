package change

import "github.com/scriptorium-dev/scriptorium/internal/page"

// Connection is a page of changes, Edge one of them with its cursor.
type (
	Connection = page.Connection[*Change]
	Edge       = page.Edge[*Change]
)

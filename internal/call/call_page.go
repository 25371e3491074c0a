package call

import "github.com/scriptorium-dev/scriptorium/internal/page"

// Connection is a page of calls, Edge one of them with its cursor.
type (
	Connection = page.Connection[*Call]
	Edge       = page.Edge[*Call]
)

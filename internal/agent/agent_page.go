package agent

import "github.com/scriptorium-dev/scriptorium/internal/page"

// Connection is a page of agents, Edge one of them with its cursor.
type (
	Connection = page.Connection[*Agent]
	Edge       = page.Edge[*Agent]
)

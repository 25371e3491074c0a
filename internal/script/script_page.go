package script

import "github.com/scriptorium-dev/scriptorium/internal/page"

// Connection is a page of scripts, Edge one of them with its cursor; VersionConnection and VersionEdge the same for versions.
type (
	Connection        = page.Connection[*Script]
	Edge              = page.Edge[*Script]
	VersionConnection = page.Connection[*Version]
	VersionEdge       = page.Edge[*Version]
)

// Owner is what a script belongs to (SDL: ScriptOwner): an *agent.Agent.
type Owner any

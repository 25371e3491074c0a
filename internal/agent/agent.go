package agent

import (
	"context"
	"slices"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
)

// Agent is an owner of scripts (SDL: Agent).
type Agent struct {
	ID             string
	OrganizationID string
	Name           string
	Scripting      bool // S1-switch
	KeepsHome      bool // its runs go on from the home that the last one left
	MaxScripts     int  // S1-cap
	ConnectedTools []string
	Tools          []string // what its runs are offered of the organization's: names and patterns
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// CreateInput is what agentCreate takes; nil is the default.
type CreateInput struct {
	Name           string
	Scripting      *bool
	KeepsHome      *bool
	MaxScripts     *int
	ConnectedTools []string
	Tools          []string
	IdempotencyKey *string
}

// CreatePayload is what agentCreate answers.
type CreatePayload struct {
	Agent      *Agent
	UserErrors []fault.UserError
}

// UpdateInput is what agentUpdate takes; nil stays as it is.
type UpdateInput struct {
	Agent          string
	Name           *string
	Scripting      *bool
	KeepsHome      *bool
	MaxScripts     *int
	ConnectedTools []string // nil: kept; empty: none
	Tools          []string // the same
}

// UpdatePayload is what agentUpdate answers.
type UpdatePayload struct {
	Agent      *Agent
	UserErrors []fault.UserError
}

// DeleteInput is what agentDelete takes.
type DeleteInput struct {
	Agent string
}

// DeletePayload is what agentDelete answers.
type DeletePayload struct {
	DeletedID  *string
	UserErrors []fault.UserError
}

// NamesInUse is what this package needs of scripts to refuse a connected tool under a script's name (S1-reserved).
type NamesInUse interface {
	// NamesInUse answers which of the names the agent's scripts have. The agent is locked.
	NamesInUse(ctx context.Context, tx *database.Tx, organizationID, agentID string, names []string) (map[string]bool, error)
}

// Removal is what another word does when an agent is deleted.
type Removal interface {
	// InTx changes the word's rows in the transaction that deletes the agent, which is locked. It may run several times.
	InTx(ctx context.Context, tx *database.Tx, organizationID, agentID string) error
	// AfterCommit tells processes, once, after the commit. Its context does not end with the request.
	AfterCommit(ctx context.Context, organizationID, agentID string)
}

// Service holds the use cases of agents.
type Service struct {
	db       *database.DB
	once     *idempotency.Service
	now      func() time.Time
	names    NamesInUse
	removals []Removal
}

// NewService makes the service. Join gives it what stands above it.
func NewService(db *database.DB, once *idempotency.Service) *Service {
	return &Service{db: db, once: once, now: database.Now}
}

// Join gives the service what stands above it; call it once, before use. Removals are called in their order: scripts, then runs.
func (s *Service) Join(names NamesInUse, removals ...Removal) {
	s.names, s.removals = names, removals
}

// Connects says whether one of the agent's connected tools has the name.
func (a *Agent) Connects(name string) bool { return slices.Contains(a.ConnectedTools, name) }

package run

import (
	"context"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/file"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
)

// Service holds the use cases of runs.
type Service struct {
	db      *database.DB
	agents  *agent.Service
	scripts *script.Service
	tools   *tool.Service
	files   *file.Service
	once    *idempotency.Service
	host    *Host
	now     func() time.Time
}

// NewService makes the service. The host must have been joined with the calls before use.
func NewService(db *database.DB, agents *agent.Service, scripts *script.Service, tools *tool.Service, files *file.Service, once *idempotency.Service, host *Host) *Service {
	return &Service{db: db, agents: agents, scripts: scripts, tools: tools, files: files, once: once, host: host, now: database.Now}
}

// Calls is what this package needs of the calls of runs.
type Calls interface {
	// Waiting says whether the run has a call that waits for its turn.
	Waiting(ctx context.Context, m *Machine) (bool, error)
	// RunNext claims the next call of the machine's run and runs it to its end; false where none waits. ErrFenced says that the run is
	// not this server's any more, or that the call's end could not be written.
	RunNext(ctx context.Context, m *Machine) (bool, error)
	// Refuse ends the next call that waits, since there is no computer for it: why wraps runner.ErrNotConfigured where there never is one.
	// It answers the call's id, empty where none waits.
	Refuse(ctx context.Context, m *Machine, why error) (string, error)
	// Look answers what the owner of these runs must know: calls of runs that server owns, or nobody, which wait, oldest first, and those
	// of its own that are to stop. It answers false where there are more of them than one look takes.
	Look(ctx context.Context, server string) (work []Work, whole bool, err error)
	// CancelOfRuns cancels the open calls of runs, in the transaction that finishes the runs: those that wait end, those that run
	// are told to.
	CancelOfRuns(ctx context.Context, tx *database.Tx, organizationID string, runIDs []string) error
	// CancelOfScripts is the same for calls of scripts that are deleted (SCRIPT_DELETED).
	CancelOfScripts(ctx context.Context, tx *database.Tx, organizationID string, scriptIDs []string) error
	// Lose ends the open calls of a run whose owner went away (LOST). clear takes the run from that owner in the same transaction,
	// and answers false where it was alive after all.
	Lose(ctx context.Context, organizationID, runID string, clear func(context.Context, *database.Tx) (bool, error)) error
	// Sweep refuses calls that have waited for too long in runs that no server takes.
	Sweep(ctx context.Context) error
}

// Work is an open call that concerns a server.
type Work struct {
	Ref
	CallID string
	// Since is when it began to wait for a computer: when it was accepted, or its run gave back the one that it had.
	Since time.Time
	// Stop says why a call that runs is to stop; empty: it waits.
	Stop Stop
}

// Stop says why a call is stopped before its end; it is an error, so that it can be a context's cause.
type Stop string

// The reasons.
const (
	StopCancelled Stop = "CANCELLED"
	StopDeleted   Stop = "SCRIPT_DELETED"
	StopLost      Stop = "LOST" // the run is this server's no longer, or the server stops
)

// Error implements error.
func (s Stop) Error() string { return "stopped: " + string(s) }

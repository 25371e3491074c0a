package run

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
)

// Status says whether a run takes calls (SDL: RunStatus).
type Status string

// The states of a run.
const (
	Open     Status = "OPEN"
	Finished Status = "FINISHED"
)

// moves are the changes of a run's state that there are.
var moves = map[Status][]Status{
	Open:     {Finished},
	Finished: {},
}

// May says whether a run in this state can go to the next one.
func (s Status) May(next Status) bool { return slices.Contains(moves[s], next) }

// Run is a run (SDL: Run). Its tools and its environment are read apart from it: Service.Tools.
type Run struct {
	ID             string
	OrganizationID string
	AgentID        *string // nil: a run without an agent
	KeyID          string
	Status         Status
	Generation     int
	CreatedAt      time.Time
	FinishedAt     *time.Time
}

// CreateInput is what runCreate takes.
type CreateInput struct {
	Agent          *string
	Tools          []*tool.Entry   // of the organization's tools
	Attachments    []string        // ids of uploads
	Environment    json.RawMessage // an object of strings; nil or null: none
	IdempotencyKey *string
}

// CreatePayload is what runCreate answers.
type CreatePayload struct {
	Run        *Run
	UserErrors []fault.UserError
}

// GenerationStartInput is what runGenerationStart takes.
type GenerationStartInput struct {
	Run string
}

// GenerationStartPayload is what runGenerationStart answers. Paths are below the agent's home, such as scripts/report.py.
type GenerationStartPayload struct {
	Run          *Run
	Materialised []string
	Removed      []string
	UserErrors   []fault.UserError
}

// FinishInput is what runFinish takes.
type FinishInput struct {
	Run string
}

// FinishPayload is what runFinish answers.
type FinishPayload struct {
	Run        *Run
	UserErrors []fault.UserError
}

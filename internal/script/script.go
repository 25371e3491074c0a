package script

import (
	"context"
	"encoding/json"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/file"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
)

// Script is a script of an agent, or of the organization (SDL: Script). Description and Parameters are those of its latest version.
type Script struct {
	ID              string
	OrganizationID  string
	AgentID         string // "": the organization's, a package of files
	Name            string
	Description     string
	Parameters      json.RawMessage // nil: no tool of its own
	LatestVersionID string          // the newest published version; the newest draft where none is
	LatestNumber    int             // the highest number that a version has, drafts among them
	Published       bool            // a version is; else only keys that may see drafts see the script
	CreatedAt       time.Time
	UpdatedAt       time.Time
	DeletedAt       *time.Time

	latest   int             // the number of the latest version
	metadata json.RawMessage // nil: {}
}

// IsPackage says whether it is the organization's, a package of files.
func (s *Script) IsPackage() bool { return s.AgentID == "" }

// DisplayPath is where the script lies in the agent's home (S1-display); nil for a package.
func (s *Script) DisplayPath() *string {
	if s.IsPackage() {
		return nil
	}
	path := Path(s.Name)
	return &path
}

// Metadata is what the organization keeps with its script: a JSON object (S2-labels).
func (s *Script) Metadata() json.RawMessage {
	if s.metadata == nil {
		return json.RawMessage("{}")
	}
	return s.metadata
}

// Path is where the script of a name lies in the agent's home.
func Path(name string) string { return "scripts/" + name + ".py" }

// Entry is a live script with one of its versions: the latest one if nothing else is said.
type Entry struct {
	Script  *Script
	Version *Version
	Labels  []*Label // of a package, where it was read as a tool
}

// TakesEffect says from when a saved script counts (SDL: TakesEffect).
type TakesEffect string

// From when a saved script counts (S1-editnext).
const (
	Now     TakesEffect = "NOW"
	NextRun TakesEffect = "NEXT_RUN"
)

// Content is what is written of a script: its name, and what makes a version (SDL: RecipeScriptInput).
type Content struct {
	Name        string
	Description string
	Source      string
	Parameters  json.RawMessage // nil or null: none
	// FreshInterpreter asks for an interpreter of its own for each call; nil: false.
	FreshInterpreter *bool
}

// SaveInput is what agentScriptSave takes.
type SaveInput struct {
	Agent       string
	Name        string
	Description string
	Source      string
	Parameters  json.RawMessage
	// FreshInterpreter asks for an interpreter of its own for each call; nil: false.
	FreshInterpreter *bool
	ExpectedVersion  *int
	IdempotencyKey   *string
}

// SavePayload is what agentScriptSave answers.
type SavePayload struct {
	Script      *Script
	Version     *Version
	Created     *bool
	TakesEffect *TakesEffect
	UserErrors  []fault.UserError
}

// RestoreInput is what agentScriptRestore takes.
type RestoreInput struct {
	Version         string
	ExpectedVersion *int
	IdempotencyKey  *string
}

// RestorePayload is what agentScriptRestore answers.
type RestorePayload SavePayload

// RecipeInput is what recipeApply takes.
type RecipeInput struct {
	Agent          string
	Scripts        []*Content
	IdempotencyKey *string
}

// RecipePayload is what recipeApply answers.
type RecipePayload struct {
	Scripts    []*Script // in the order of the input; nil where refused
	UserErrors []fault.UserError
}

// DeleteInput is what agentScriptDelete takes.
type DeleteInput struct {
	Agent string
	Name  string
}

// DeletePayload is what agentScriptDelete answers.
type DeletePayload struct {
	DeletedID  *string
	UserErrors []fault.UserError
}

// ClearInput is what agentScriptClear takes.
type ClearInput struct {
	Agent string
}

// ClearPayload is what agentScriptClear answers.
type ClearPayload struct {
	DeletedIDs []string // nil where refused
	UserErrors []fault.UserError
}

// VersionConflict says that the version expected is not the latest one (SDL: VersionConflict).
type VersionConflict struct {
	fault.Detail
	// Current is the latest version, nil where there is no script of the name.
	Current *Version
}

// Removal is what other words do when scripts are deleted (S1-delnow).
type Removal interface {
	// InTx changes the word's rows in the transaction that deletes the scripts: entries leave the snapshots of open runs, calls are
	// told to stop. The agent is locked. It may run several times.
	InTx(ctx context.Context, tx *database.Tx, organizationID string, scriptIDs []string) error
	// AfterCommit tells processes, once, after the commit: calls stop, files leave homes. Its context does not end with the request.
	AfterCommit(ctx context.Context, organizationID string, scripts []*Script)
}

// WriteThrough writes saved scripts to running machines (S1-wthru).
type WriteThrough interface {
	// Saved is called once, after the commit of a save. Its context does not end with the request. It does not wait for machines.
	Saved(ctx context.Context, s *Script, v *Version)
}

// SnapshotNames knows what open runs took.
type SnapshotNames interface {
	// InOpenSnapshot says whether an OPEN run of the agent has the name in its snapshot. The agent is locked.
	InOpenSnapshot(ctx context.Context, tx *database.Tx, organizationID, agentID, name string) (bool, error)
}

// Service holds the use cases of scripts.
type Service struct {
	db      *database.DB
	agents  *agent.Service
	changes *change.Service
	once    *idempotency.Service
	files   *file.Service
	now     func() time.Time

	removal   Removal
	through   WriteThrough
	snapshots SnapshotNames
}

// NewService makes the service. Join gives it what stands above it.
func NewService(db *database.DB, agents *agent.Service, changes *change.Service, once *idempotency.Service, files *file.Service) *Service {
	return &Service{db: db, agents: agents, changes: changes, once: once, files: files, now: database.Now}
}

// Join gives the service what stands above it; call it once, before use.
func (s *Service) Join(removal Removal, through WriteThrough, snapshots SnapshotNames) {
	s.removal, s.through, s.snapshots = removal, through, snapshots
}

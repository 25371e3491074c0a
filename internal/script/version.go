package script

import (
	"encoding/json"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/change"
)

// TimeoutSeconds is how long a call of an agent's script may run (S1-timeout).
const TimeoutSeconds = 120

// VersionStatus says whether a version can be used (SDL: VersionStatus).
type VersionStatus string

// The states of a version. An agent's script is published when it is saved.
const (
	Draft     VersionStatus = "DRAFT"
	Published VersionStatus = "PUBLISHED"
)

// Version is one immutable version of a script (SDL: ScriptVersion).
type Version struct {
	ID             string
	OrganizationID string
	ScriptID       string
	ScriptName     string
	Number         int
	Description    string
	Parameters     json.RawMessage // the JSON Schema as it was sent; nil: none
	Source         string
	SourceHash     string // lower-case hex SHA-256 of Source
	TimeoutSeconds int
	// FreshInterpreter is true where each call gets an interpreter started for it alone.
	FreshInterpreter bool
	Author           change.Author
	CreatedAt        time.Time
}

// Status is Published: an agent's script has no drafts.
func (*Version) Status() VersionStatus { return Published }

// Entrypoint is the command that runs it, in the agent's home.
func (v *Version) Entrypoint() []string { return []string{"python3", Path(v.ScriptName)} }

// PublishedAt is when it was written.
func (v *Version) PublishedAt() *time.Time { return &v.CreatedAt }

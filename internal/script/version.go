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
	Package        bool // of the organization's script: a package of files
	Number         int
	Description    string
	Parameters     json.RawMessage // the JSON Schema as it was sent; nil: none
	Entrypoint     []string        // the command that runs it: in the package's folder, or in the agent's home
	Source         string          // an agent's script; "" for a package
	SourceHash     string          // lower-case hex SHA-256 of Source, or of the package's manifest
	TimeoutSeconds int
	Background     bool
	// FreshInterpreter is true where each call gets an interpreter started for it alone.
	FreshInterpreter bool
	Author           change.Author
	CreatedAt        time.Time
	PublishedAt      *time.Time // nil: a draft
	RejectedAt       *time.Time // of a draft that is not published any more

	labels, metadata json.RawMessage // a draft's: the script's, when it is published; nil: the script's are kept
}

// Status says whether it is published.
func (v *Version) Status() VersionStatus {
	if v.PublishedAt == nil {
		return Draft
	}
	return Published
}

// agentEntrypoint is the command that runs an agent's script, in the agent's home.
func agentEntrypoint(name string) []string { return []string{"python3", Path(name)} }

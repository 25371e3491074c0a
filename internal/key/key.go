package key

import (
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// Capability is something a key may do (SDL: Capability).
type Capability string

// The capabilities. Reading needs none of them.
const (
	Tooling    Capability = "TOOLING"    // agents, scripts, runs and calls
	Computer   Capability = "COMPUTER"   // calls that run on a computer
	Files      Capability = "FILES"      // uploads
	Artifacts  Capability = "ARTIFACTS"  // artifacts of calls
	Management Capability = "MANAGEMENT" // keys, approvals and drafts
)

// Capabilities are all of them, in the order in which they are stored and answered.
func Capabilities() []Capability {
	return []Capability{Tooling, Computer, Files, Artifacts, Management}
}

// Key is an API key (SDL: ApiKey).
type Key struct {
	ID                 string
	OrganizationID     string
	Name               string
	Prefix             string // the first characters of the secret
	Capabilities       []Capability
	ToolRules          []*ToolRule // over the names of tools, in order
	ExecTimeoutSeconds *int        // the longest that a call may run; nil: the deployment's limit
	Operator           bool
	CreatedAt          time.Time
	LastUsedAt         *time.Time // within a minute
	RevokedAt          *time.Time
}

// CreateInput is what keyCreate takes.
type CreateInput struct {
	Name               string
	Capabilities       []Capability
	ToolRules          []*ToolRule // nil: the own key's
	ExecTimeoutSeconds *int
	Organization       *string // the operator's only; nil: the own one
}

// CreatePayload is what keyCreate answers.
type CreatePayload struct {
	Key        *Key
	Secret     *string // answered this once
	UserErrors []fault.UserError
}

// RevokeInput is what keyRevoke takes.
type RevokeInput struct {
	Key string
}

// RevokePayload is what keyRevoke answers.
type RevokePayload struct {
	Key        *Key
	UserErrors []fault.UserError
}

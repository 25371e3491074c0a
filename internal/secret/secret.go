package secret

import (
	"errors"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Bounds of secrets.
const (
	// MaxSecrets is how many secrets an agent has at most.
	MaxSecrets = 64
	// MaxBytes is how many bytes its names and values have together.
	MaxBytes = 64 << 10
	// MaxValue is how many bytes a value has.
	MaxValue = 32 << 10
	// MaxDescription is the longest description, in characters.
	MaxDescription = 400
)

// Secret is what everybody may know of a secret (SDL: AgentSecret).
type Secret struct {
	OrganizationID string
	AgentID        string
	Name           string
	Description    string
}

// SetInput is what agentSecretSet takes.
type SetInput struct {
	Agent       string
	Name        string
	Description string
	Value       string
}

// SetPayload is what agentSecretSet answers.
type SetPayload struct {
	Agent      *agent.Agent
	Secret     *Secret
	Created    *bool
	UserErrors []fault.UserError
}

// DeleteInput is what agentSecretDelete takes.
type DeleteInput struct {
	Agent string
	Name  string
}

// DeletePayload is what agentSecretDelete answers.
type DeletePayload struct {
	Agent      *agent.Agent
	DeletedID  *string
	UserErrors []fault.UserError
}

// Service holds the use cases of secrets. Unlock it before use.
type Service struct {
	db     *database.DB
	agents *agent.Service
	keys   atomic.Pointer[Keyring]
	now    func() time.Time
}

// NewService makes the service.
func NewService(db *database.DB, agents *agent.Service) *Service {
	return &Service{db: db, agents: agents, now: database.Now}
}

// check holds the rules about the input itself. No message repeats the value.
func (in SetInput) check() error {
	return errors.Join(checkName(in.Name), text.Filled("input.description", in.Description, MaxDescription), checkValue(in.Value))
}

func checkName(name string) error {
	const path = "input.name"
	switch {
	case !text.ValidVariable(name):
		return fault.Plain(fault.Invalid, path, "%s must match ^[A-Z_][A-Z0-9_]*$ and have at most %d characters", path, text.MaxVariable)
	case text.ReservedVariable(name):
		return fault.Plain(fault.Reserved, path, "%s: %s is kept for the system: every call gets it from the server, or it would change what its interpreter loads", path, name)
	}
	return nil
}

func checkValue(value string) error {
	const path = "input.value"
	switch {
	case value == "":
		return fault.Plain(fault.Invalid, path, "%s is empty", path)
	case len(value) > MaxValue:
		return fault.Plain(fault.TooLarge, path, "%s has %d bytes; %d are allowed", path, len(value), MaxValue)
	case strings.ContainsRune(value, 0):
		return fault.Plain(fault.Invalid, path, "%s holds U+0000, which an environment cannot", path)
	case !utf8.ValidString(value):
		return fault.Plain(fault.Invalid, path, "%s is not valid UTF-8", path)
	}
	return nil
}

// checkRoom holds the rules about all secrets of an agent together: others is how many there are beside the new one, size how many bytes they have.
func checkRoom(in SetInput, others, size int) error {
	if others >= MaxSecrets {
		return &fault.CapReached{
			Detail: fault.NewDetail(fault.AtCap, "input.name", "this agent is limited to %d secrets", MaxSecrets), Limit: MaxSecrets,
		}
	}
	if size += len(in.Name) + len(in.Value); size > MaxBytes {
		return fault.Plain(fault.TooLarge, "input.value", "input.value: the names and values of this agent's secrets would have %d bytes together; %d are allowed", size, MaxBytes)
	}
	return nil
}

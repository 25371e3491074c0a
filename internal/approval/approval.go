package approval

import (
	"time"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Decision is what was decided (SDL: ApprovalDecision).
type Decision string

// The decisions.
const (
	Approved Decision = "APPROVED"
	Rejected Decision = "REJECTED"
)

// Subject is what a decision is about (SDL: ApprovalSubject): a *script.Version.
type Subject any

// Approval is somebody's decision (SDL: Approval).
type Approval struct {
	ID             string
	OrganizationID string
	VersionID      string
	Decision       Decision
	Comment        string
	KeyID          string
	At             time.Time
}

// PublishInput is what scriptVersionPublish takes.
type PublishInput struct {
	Version string
	Comment *string
}

// PublishPayload is what scriptVersionPublish answers.
type PublishPayload struct {
	Version    *script.Version
	Approval   *Approval
	UserErrors []fault.UserError
}

// RejectInput is what scriptVersionReject takes.
type RejectInput struct {
	Version string
	Comment *string
}

// RejectPayload is what scriptVersionReject answers.
type RejectPayload struct {
	Version    *script.Version
	Approval   *Approval
	UserErrors []fault.UserError
}

// MaxComment is the longest comment, in characters.
const MaxComment = 1000

// checkComment holds the rule about a comment.
func checkComment(comment *string) error {
	const at = "input.comment"
	if comment == nil {
		return nil
	}
	if utf8.RuneCountInString(*comment) > MaxComment {
		return fault.Plain(fault.Invalid, at, "%s is longer than %d characters", at, MaxComment)
	}
	return text.Storable(at, *comment)
}

// Service holds the use cases of approvals.
type Service struct {
	db      *database.DB
	scripts *script.Service
	now     func() time.Time
}

// NewService makes the service.
func NewService(db *database.DB, scripts *script.Service) *Service {
	return &Service{db: db, scripts: scripts, now: database.Now}
}

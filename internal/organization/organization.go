package organization

import (
	"context"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// Organization is a tenant (SDL: Organization).
type Organization struct {
	ID        string
	Name      string
	ParentID  *string // the organization above it
	CreatedAt time.Time
	// VersionsNeedApproval: every new version of its scripts is a draft, whoever writes it (S2-draft).
	VersionsNeedApproval bool
}

// CreateInput is what organizationCreate takes.
type CreateInput struct {
	Name   string
	Parent *string
}

// CreatePayload is what organizationCreate answers. KeyID names the first key; its object is the key package's.
type CreatePayload struct {
	Organization *Organization
	KeyID        *string
	Secret       *string
	UserErrors   []fault.UserError
}

// UpdateInput is what organizationUpdate takes; nil stays as it is.
type UpdateInput struct {
	Organization         string
	Name                 *string
	VersionsNeedApproval *bool
}

// UpdatePayload is what organizationUpdate answers.
type UpdatePayload struct {
	Organization *Organization
	UserErrors   []fault.UserError
}

// KeyMaker is what this package needs of keys.
type KeyMaker interface {
	// Operator answers a DENIED Problem where who asks is not the operator.
	Operator(ctx context.Context) error
	// Manages says whether who asks may change the organization: its own, the operator any. Without MANAGEMENT it is a DENIED Problem.
	Manages(ctx context.Context, organizationID string) (bool, error)
	// FirstKey makes the key of a new organization, with every capability, in the transaction that makes the organization.
	FirstKey(ctx context.Context, tx *database.Tx, organizationID string) (keyID, secret string, err error)
}

// Service holds the use cases of organizations.
type Service struct {
	db   *database.DB
	keys KeyMaker
	now  func() time.Time
}

// NewService makes the service. Join gives it its KeyMaker.
func NewService(db *database.DB) *Service { return &Service{db: db, now: database.Now} }

// Join gives the service what stands above it; call it once, before use.
func (s *Service) Join(keys KeyMaker) { s.keys = keys }

package key

import (
	"context"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/organization"
)

// Service holds the use cases of keys.
type Service struct {
	db            *database.DB
	organizations *organization.Service
	now           func() time.Time
	used          chan string // ids of keys to be marked as used
}

// NewService makes the service. Run marks keys as used.
func NewService(db *database.DB, organizations *organization.Service) *Service {
	return &Service{db: db, organizations: organizations, now: database.Now, used: make(chan string, maxUsed)}
}

// ByIDs answers the organization's keys with these ids, revoked ones too, in one statement.
func (s *Service) ByIDs(ctx context.Context, organizationID string, ids []string) (map[string]*Key, error) {
	return byIDs(ctx, s.db.Read(), organizationID, id.Only(id.Key, ids))
}

// make writes a new key, with an id, a secret and its time, and answers the secret.
func (s *Service) make(ctx context.Context, tx *database.Tx, k *Key) (secret string, err error) {
	secret = newSecret()
	k.ID, k.Prefix, k.CreatedAt = id.New(id.Key), secret[:shown], s.now()
	return secret, insert(ctx, tx, k, hash(secret))
}

// Operator implements organization.KeyMaker.
func (s *Service) Operator(ctx context.Context) error {
	v, err := From(ctx)
	if err != nil {
		return err
	}
	return v.RequireOperator()
}

// Manages implements organization.KeyMaker.
func (s *Service) Manages(ctx context.Context, organizationID string) (bool, error) {
	v, err := Permitted(ctx, Management)
	if err != nil {
		return false, err
	}
	return id.Is(id.Organization, organizationID) && v.Sees(organizationID), nil
}

// FirstKey implements organization.KeyMaker.
func (s *Service) FirstKey(ctx context.Context, tx *database.Tx, organizationID string) (keyID, secret string, err error) {
	k := &Key{OrganizationID: organizationID, Name: "first key", Capabilities: Capabilities()}
	secret, err = s.make(ctx, tx, k)
	return k.ID, secret, err
}

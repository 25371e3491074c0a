package organization

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Create makes an organization and its first key, which has every capability. It is the operator's.
func (s *Service) Create(ctx context.Context, in CreateInput) (*CreatePayload, error) {
	if err := s.keys.Operator(ctx); err != nil {
		return nil, err
	}
	var made CreatePayload
	err := text.Label("input.name", in.Name)
	if err == nil {
		err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			if err := checkParent(ctx, tx, in.Parent); err != nil {
				return err
			}
			o, err := s.CreateInTx(ctx, tx, in.Name, in.Parent)
			if err != nil {
				return err
			}
			keyID, secret, err := s.keys.FirstKey(ctx, tx, o.ID)
			made = CreatePayload{Organization: o, KeyID: &keyID, Secret: &secret}
			return err
		})
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &CreatePayload{UserErrors: refused}, err
	}
	made.UserErrors = refused
	return &made, nil
}

// CreateInTx makes an organization in a transaction, without a key: for the first start.
func (s *Service) CreateInTx(ctx context.Context, tx *database.Tx, name string, parentID *string) (*Organization, error) {
	o := &Organization{ID: id.New(id.Organization), Name: name, ParentID: parentID, CreatedAt: s.now()}
	return o, insert(ctx, tx, o)
}

func checkParent(ctx context.Context, tx *database.Tx, parentID *string) error {
	if parentID == nil {
		return nil
	}
	found, err := byIDs(ctx, tx.Ent(), id.Only(id.Organization, []string{*parentID}))
	if err != nil {
		return err
	}
	if found[*parentID] == nil {
		return fault.Plain(fault.NotFound, "input.parent", "input.parent: there is no such organization")
	}
	return nil
}

// ByIDs answers the organizations with these ids, in one statement. An organization may be shown to its own keys, to those of
// organizations right below it (as their parent), and to the operator.
func (s *Service) ByIDs(ctx context.Context, ids []string) (map[string]*Organization, error) {
	return byIDs(ctx, s.db.Read(), id.Only(id.Organization, ids))
}

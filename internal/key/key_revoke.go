package key

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
)

// Revoke ends a key at once; one that is revoked already is answered unchanged. It needs MANAGEMENT. A key may end itself; the last
// operator's key stays, since nobody could make another.
func (s *Service) Revoke(ctx context.Context, in RevokeInput) (*RevokePayload, error) {
	v, err := Permitted(ctx, Management)
	if err != nil {
		return nil, err
	}
	var k *Key
	err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		k = nil
		if id.Is(id.Key, in.Key) {
			if k, err = lockAny(ctx, tx, in.Key); err != nil {
				return err
			}
		}
		if k == nil || k.OrganizationID != v.Organization.ID && !v.Operator {
			return fault.Plain(fault.NotFound, "input.key", "input.key: there is no such key")
		}
		if k.RevokedAt != nil {
			return nil
		}
		if k.Operator {
			if err := revocableOperator(ctx, tx, v); err != nil {
				return err
			}
		}
		at := s.now()
		k.RevokedAt = &at
		return revoke(ctx, tx, k.ID, at)
	})
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &RevokePayload{UserErrors: refused}, err
	}
	return &RevokePayload{Key: k, UserErrors: refused}, nil
}

// revocableOperator refuses to end an operator's key to everybody else, and to end the last one.
func revocableOperator(ctx context.Context, tx *database.Tx, v *Viewer) error {
	if !v.Operator {
		return fault.Plain(fault.Forbidden, "input.key", "input.key: only the operator can revoke the operator's key")
	}
	n, err := lockOperators(ctx, tx)
	if err != nil {
		return err
	}
	if n < 2 {
		return fault.Plain(fault.BadState, "input.key", "input.key is the only key of the operator: make another one first, on the server")
	}
	return nil
}

package organization

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Update changes an organization; what is nil stays. It needs MANAGEMENT, and is the operator's for another one than the own.
func (s *Service) Update(ctx context.Context, in UpdateInput) (*UpdatePayload, error) {
	may, err := s.keys.Manages(ctx, in.Organization)
	if err != nil {
		return nil, err
	}
	var o *Organization
	if in.Name != nil {
		err = text.Label("input.name", *in.Name)
	}
	if err == nil {
		err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			o, err = updateInTx(ctx, tx, may, in)
			return err
		})
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &UpdatePayload{UserErrors: refused}, err
	}
	return &UpdatePayload{Organization: o, UserErrors: refused}, nil
}

func updateInTx(ctx context.Context, tx *database.Tx, may bool, in UpdateInput) (*Organization, error) {
	var o *Organization
	if may {
		var err error
		if o, err = lock(ctx, tx, in.Organization); err != nil {
			return nil, err
		}
	}
	if o == nil {
		return nil, fault.Plain(fault.NotFound, "input.organization", "input.organization: there is no such organization")
	}
	if in.Name != nil {
		o.Name = *in.Name
	}
	if in.VersionsNeedApproval != nil {
		o.VersionsNeedApproval = *in.VersionsNeedApproval
	}
	return o, update(ctx, tx, o)
}

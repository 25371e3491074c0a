package approval

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/script"
)

// Publish approves a draft, which makes it its script's latest version (S2-draft). It needs MANAGEMENT.
func (s *Service) Publish(ctx context.Context, in PublishInput) (*PublishPayload, error) {
	version, approval, refused, err := s.decide(ctx, Approved, in.Version, in.Comment, s.scripts.PublishInTx)
	return &PublishPayload{Version: version, Approval: approval, UserErrors: refused}, err
}

// Reject ends a draft, which can never be published then (S2-draft). It needs MANAGEMENT.
func (s *Service) Reject(ctx context.Context, in RejectInput) (*RejectPayload, error) {
	version, approval, refused, err := s.decide(ctx, Rejected, in.Version, in.Comment, s.scripts.RejectInTx)
	return &RejectPayload{Version: version, Approval: approval, UserErrors: refused}, err
}

// decide moves the draft and keeps the decision.
func (s *Service) decide(
	ctx context.Context, decision Decision, versionID string, comment *string,
	move func(ctx context.Context, tx *database.Tx, v *key.Viewer, versionID string) (*script.Version, error),
) (version *script.Version, approval *Approval, refused []fault.UserError, err error) {
	v, err := key.Permitted(ctx, key.Management)
	if err != nil {
		return nil, nil, nil, err
	}
	if err = checkComment(comment); err == nil {
		err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			if version, err = move(ctx, tx, v, versionID); err != nil {
				return err
			}
			approval = &Approval{
				ID: id.New(id.Approval), OrganizationID: v.Organization.ID, VersionID: version.ID, Decision: decision, KeyID: v.Key.ID, At: s.now(),
			}
			if comment != nil {
				approval.Comment = *comment
			}
			return insert(ctx, tx, approval)
		})
	}
	if refused, err = fault.Refusals(err); err != nil || len(refused) > 0 {
		return nil, nil, refused, err
	}
	return version, approval, refused, nil
}

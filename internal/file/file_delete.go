package file

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// DeleteInput is what fileDelete takes.
type DeleteInput struct {
	File string
}

// DeletePayload is what fileDelete answers.
type DeletePayload struct {
	DeletedID  *string
	UserErrors []fault.UserError
}

// Delete removes an upload. What else refers to its bytes keeps them (S2-fcopy). It needs FILES.
func (s *Service) Delete(ctx context.Context, in DeleteInput) (*DeletePayload, error) {
	v, err := key.Permitted(ctx, key.Files)
	if err != nil {
		return nil, err
	}
	gone := false
	if id.Is(id.File, in.File) {
		err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			gone, err = remove(ctx, tx, v.Organization.ID, in.File)
			return err
		})
	}
	if err == nil && !gone {
		err = fault.Plain(fault.NotFound, "input.file", "input.file: there is no such upload")
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &DeletePayload{UserErrors: refused}, err
	}
	return &DeletePayload{DeletedID: &in.File, UserErrors: refused}, nil
}

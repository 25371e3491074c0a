package file

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

// Connection is a page of files, Edge one of them with its cursor.
type (
	Connection = page.Connection[*File]
	Edge       = page.Edge[*File]
)

// Page answers the organization's uploads, newest first.
func (s *Service) Page(ctx context.Context, organizationID string, args page.Args) (*Connection, error) {
	const order = "files"
	w, err := args.Window(order, id.File)
	if err != nil {
		return nil, err
	}
	rows, err := list(ctx, s.db.Read(), organizationID, w)
	if err != nil {
		return nil, err
	}
	return page.New(w, rows, func(f *File) string { return page.Encode(order, f.ID) }, func(ctx context.Context) (int, error) {
		return count(ctx, s.db.Read(), organizationID)
	}), nil
}

package file

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// Read answers a file of the viewer's organization whose bytes are asked for: an upload, or, where that is gone, a copy that a run was given; nil where there is
// none. It needs any key.
func (s *Service) Read(ctx context.Context, fileID string) (*File, error) {
	v, err := key.From(ctx)
	if err != nil || !id.Is(id.File, fileID) {
		return nil, err
	}
	found, err := s.ByIDs(ctx, v.Organization.ID, []string{fileID})
	return found[fileID], err
}

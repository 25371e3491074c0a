package file

import (
	"context"
	"slices"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/id"
)

// File is an uploaded file, or the copy of one that a run was given (SDL: File).
type File struct {
	ID             string
	OrganizationID string
	KeyID          string // who uploaded it; "" of a copy
	Filename       string
	ContentType    string
	SHA256         string // lower-case hex
	Size           int
	CreatedAt      time.Time
}

// URL is the path of its bytes.
func (f *File) URL() string { return "/files/" + f.ID }

// Service holds the use cases of files.
type Service struct {
	db    *database.DB
	blobs *blob.Store
	now   func() time.Time
}

// NewService makes the service.
func NewService(db *database.DB, blobs *blob.Store) *Service {
	return &Service{db: db, blobs: blobs, now: database.Now}
}

// Uploads reads the organization's uploads by their ids, in one statement; those that are not there are missing in the answer.
func (*Service) Uploads(ctx context.Context, q *database.Querier, organizationID string, ids []string) (map[string]*File, error) {
	return uploads(ctx, q, organizationID, id.Only(id.File, ids))
}

// ByIDs answers the organization's files with these ids: uploads, and, where these are gone, the copies that runs were given.
func (s *Service) ByIDs(ctx context.Context, organizationID string, ids []string) (map[string]*File, error) {
	ids = id.Only(id.File, ids)
	found, err := uploads(ctx, s.db.SQL(), organizationID, ids)
	if err != nil {
		return nil, err
	}
	gone := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return found[id] != nil })
	if len(gone) == 0 {
		return found, nil
	}
	return found, copies(ctx, s.db.SQL(), organizationID, gone, found)
}

// InsertAttachments writes copies of files for a run, in their order, in the transaction that writes the run. Their contents are referred to before.
func (*Service) InsertAttachments(ctx context.Context, tx *database.Tx, organizationID, runID string, files []*File) error {
	return insertAttachments(ctx, tx, organizationID, runID, files)
}

// Attachments reads the files that runs were given, in their order, each by its run's id, in one statement.
func (*Service) Attachments(ctx context.Context, q *database.Querier, organizationID string, runIDs []string) (map[string][]*File, error) {
	return attachments(ctx, q, organizationID, runIDs)
}

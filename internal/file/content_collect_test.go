package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/blobbucket"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/organization"
	"github.com/scriptorium-dev/scriptorium/internal/upload"
)

// uploader is a service on a database, and a context in which a key of an organization may upload.
func uploader(t *testing.T, d *database.DB) (*Service, context.Context) {
	t.Helper()
	o := &organization.Organization{ID: id.New(id.Organization)}
	err := d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
		return tx.Ent().Organization.Create().SetID(o.ID).SetName("one").SetCreatedAt(database.Now()).Exec(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	blobs := blob.New(blobbucket.Open(d, t.TempDir()))
	t.Cleanup(func() { _ = blobs.Close() })
	return NewService(d, blobs), key.WithViewer(t.Context(), &key.Viewer{Organization: o, Key: &key.Key{ID: id.New(id.Key), Capabilities: key.Capabilities()}})
}

// uploadAndRead uploads bytes and reads them, and answers the upload's id.
func uploadAndRead(ctx context.Context, s *Service, content string) (string, error) {
	p, err := s.Upload(ctx, UploadInput{&upload.Upload{Filename: "a", Content: strings.NewReader(content)}})
	if err != nil || len(p.UserErrors) > 0 {
		return "", fmt.Errorf("an upload: %w, %v", err, p)
	}
	r, err := s.OpenContent(ctx, p.File.SHA256, 0, -1)
	if err != nil {
		return "", fmt.Errorf("bytes that an upload refers to: %w", err)
	}
	b, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil || string(b) != content {
		return "", fmt.Errorf("%d bytes are read, %w", len(b), err)
	}
	return p.File.ID, nil
}

// TestCollectAmidUploads: many clients upload the same bytes at the moment at which these are collected, as nothing has referred to them for long: each upload is kept, and
// can be read at once; in the end nothing is left.
func TestCollectAmidUploads(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		s, ctx := uploader(t, d)
		content := strings.Repeat("the same ", 50_000) // more than a piece of a blob
		const rounds, clients = 8, 12                  // more than a server has connections for writing
		collect := func() error {
			_, err := s.Collect(ctx, database.Now().Add(-unreferred))
			return err
		}
		for range rounds {
			ids, failed := make(chan string, clients), make(chan error, clients+1)
			go func() { failed <- collect() }()
			for range clients {
				go func() {
					id, err := uploadAndRead(ctx, s, content)
					ids <- id
					failed <- err
				}()
			}
			for range clients + 1 {
				if err := <-failed; err != nil {
					t.Error(err)
				}
			}
			for range clients {
				if _, err := s.Delete(ctx, DeleteInput{File: <-ids}); err != nil {
					t.Error(err)
				}
			}
			err := d.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
				_, err := tx.SQL().ExecContext(ctx, "UPDATE contents SET touched_at = $1", database.Now().Add(-2*unreferred))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := collect(); err != nil {
			t.Error(err)
		}
		var contents, blobs int
		if err := d.SQL().QueryRowContext(ctx, "SELECT (SELECT count(*) FROM contents), (SELECT count(*) FROM blobs)").Scan(&contents, &blobs); err != nil || contents+blobs != 0 {
			t.Errorf("left: %d contents, %d blobs, %v", contents, blobs, err)
		}
	})
}

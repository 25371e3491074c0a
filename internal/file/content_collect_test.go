package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/blobbucket"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
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

// uploadAndRead uploads bytes, reads them, and deletes the upload; false where they were collected before anything referred to them, which is said.
func uploadAndRead(ctx context.Context, s *Service, content string) (bool, error) {
	p, err := s.Upload(ctx, UploadInput{&upload.Upload{Filename: "a", Content: strings.NewReader(content)}})
	if problem, ok := errors.AsType[*fault.Problem](err); ok && problem.Code == fault.Unavailable {
		return false, nil
	}
	if err != nil || len(p.UserErrors) > 0 {
		return false, fmt.Errorf("an upload: %w, %v", err, p)
	}
	r, err := s.OpenContent(ctx, p.File.SHA256, 0, -1)
	if err != nil {
		return false, fmt.Errorf("bytes that an upload refers to: %w", err)
	}
	b, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil || string(b) != content {
		return false, fmt.Errorf("%d bytes are read, %w", len(b), err)
	}
	_, err = s.Delete(ctx, DeleteInput{File: p.File.ID})
	return true, err
}

// TestCollectAmidUploads: clients upload the same bytes again and again while these are collected whenever nothing refers to them: what an upload refers to can be read,
// whoever else deletes his, and in the end nothing is left.
func TestCollectAmidUploads(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		s, ctx := uploader(t, d)
		content := strings.Repeat("the same ", 50_000) // more than a piece of a blob
		const clients, times = 12, 5 // more than a server has connections for writing
		done, stop, collected := make(chan error, clients), make(chan struct{}), make(chan error, 1)
		for range clients {
			go func() {
				kept := 0
				var failed error
				for range times {
					ok, err := uploadAndRead(ctx, s, content)
					if ok {
						kept++
					}
					if failed = err; failed != nil {
						break
					}
				}
				if failed == nil && kept == 0 {
					failed = errors.New("all its uploads were collected before anything referred to them")
				}
				done <- failed
			}()
		}
		go func() {
			var failed error
			for {
				select {
				case <-stop:
					collected <- failed
					return
				default:
					_, err := s.Collect(ctx, database.Now())
					failed = errors.Join(failed, err)
				}
			}
		}()
		for range clients {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		close(stop)
		if err := <-collected; err != nil {
			t.Error(err)
		}
		if _, err := s.Collect(ctx, database.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		var contents, blobs int
		if err := d.SQL().QueryRowContext(ctx, "SELECT (SELECT count(*) FROM contents), (SELECT count(*) FROM blobs)").Scan(&contents, &blobs); err != nil || contents+blobs != 0 {
			t.Errorf("left: %d contents, %d blobs, %v", contents, blobs, err)
		}
	})
}

package file

import (
	"context"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/ent/db"
	entfile "github.com/scriptorium-dev/scriptorium/ent/db/file"
	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

// uploads reads uploads by their ids.
func uploads(ctx context.Context, q *database.Querier, organizationID string, ids []string) (map[string]*File, error) {
	rows, err := q.QueryContext(ctx, "SELECT id, key_id, filename, content_type, sha256, size, created_at FROM files WHERE organization_id = $1 AND id IN "+
		batch.In(q.Dialect(), 2), organizationID, batch.List(ids))
	if err != nil {
		return nil, fmt.Errorf("file: read: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	found := make(map[string]*File, len(ids))
	for rows.Next() {
		f := &File{OrganizationID: organizationID}
		if err := rows.Scan(&f.ID, &f.KeyID, &f.Filename, &f.ContentType, &f.SHA256, &f.Size, &f.CreatedAt); err != nil {
			return nil, fmt.Errorf("file: read: %w", err)
		}
		f.CreatedAt = f.CreatedAt.UTC()
		found[f.ID] = f
	}
	return found, rows.Err()
}

// insertAttachments writes a run's files.
func insertAttachments(ctx context.Context, tx *database.Tx, organizationID, runID string, files []*File) error {
	if len(files) == 0 {
		return nil
	}
	rows := make([]*db.AttachmentCreate, len(files))
	for i, f := range files {
		rows[i] = tx.Ent().Attachment.Create().SetOrganizationID(organizationID).SetRunID(runID).SetPosition(i).SetFileID(f.ID).SetFilename(f.Filename).
			SetContentType(f.ContentType).SetSha256(f.SHA256).SetSize(int64(f.Size)).SetCreatedAt(f.CreatedAt)
	}
	if err := tx.Ent().Attachment.CreateBulk(rows...).Exec(ctx); err != nil {
		return fmt.Errorf("file: attach: %w", err)
	}
	return nil
}

// attachments reads the files of runs, in their order.
func attachments(ctx context.Context, q *database.Querier, organizationID string, runIDs []string) (map[string][]*File, error) {
	rows, err := q.QueryContext(ctx, `SELECT run_id, file_id, filename, content_type, sha256, size, created_at FROM attachments
		WHERE organization_id = $1 AND run_id IN `+batch.In(q.Dialect(), 2)+" ORDER BY run_id, position", organizationID, batch.List(runIDs))
	if err != nil {
		return nil, fmt.Errorf("file: attachments: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	found := make(map[string][]*File, len(runIDs))
	for rows.Next() {
		f := &File{OrganizationID: organizationID}
		var runID string
		if err := rows.Scan(&runID, &f.ID, &f.Filename, &f.ContentType, &f.SHA256, &f.Size, &f.CreatedAt); err != nil {
			return nil, fmt.Errorf("file: attachments: %w", err)
		}
		f.CreatedAt = f.CreatedAt.UTC()
		found[runID] = append(found[runID], f)
	}
	return found, rows.Err()
}

// copies reads the copies of files that runs were given, whichever run's; all copies of a file are equal.
func copies(ctx context.Context, q *database.Querier, organizationID string, fileIDs []string, into map[string]*File) error {
	rows, err := q.QueryContext(ctx, `SELECT DISTINCT file_id, filename, content_type, sha256, size, created_at FROM attachments
		WHERE organization_id = $1 AND file_id IN `+batch.In(q.Dialect(), 2), organizationID, batch.List(fileIDs))
	if err != nil {
		return fmt.Errorf("file: copies: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	for rows.Next() {
		f := &File{OrganizationID: organizationID}
		if err := rows.Scan(&f.ID, &f.Filename, &f.ContentType, &f.SHA256, &f.Size, &f.CreatedAt); err != nil {
			return fmt.Errorf("file: copies: %w", err)
		}
		f.CreatedAt = f.CreatedAt.UTC()
		into[f.ID] = f
	}
	return rows.Err()
}

// insert writes an upload's row.
func insert(ctx context.Context, tx *database.Tx, f *File) error {
	err := tx.Ent().File.Create().SetID(f.ID).SetOrganizationID(f.OrganizationID).SetKeyID(f.KeyID).SetFilename(f.Filename).SetContentType(f.ContentType).
		SetSha256(f.SHA256).SetSize(int64(f.Size)).SetCreatedAt(f.CreatedAt).Exec(ctx)
	if err != nil {
		return fmt.Errorf("file: write: %w", err)
	}
	return nil
}

// remove deletes an upload's row; false where there is none.
func remove(ctx context.Context, tx *database.Tx, organizationID, fileID string) (bool, error) {
	n, err := tx.Ent().File.Delete().Where(entfile.OrganizationID(organizationID), entfile.ID(fileID)).Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("file: delete: %w", err)
	}
	return n > 0, nil
}

// list reads a window of the organization's uploads, newest first.
func list(ctx context.Context, client *db.Client, organizationID string, w page.Window) ([]*File, error) {
	query := client.File.Query().Where(entfile.OrganizationID(organizationID)).Limit(w.Limit + 1)
	if w.After != "" {
		query.Where(entfile.IDLT(w.After))
	}
	if w.Before != "" {
		query.Where(entfile.IDGT(w.Before))
	}
	if w.Backward {
		query.Order(db.Asc(entfile.FieldID))
	} else {
		query.Order(db.Desc(entfile.FieldID))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("file: list: %w", err)
	}
	files := make([]*File, len(rows))
	for i, r := range rows {
		files[i] = &File{
			ID: r.ID, OrganizationID: r.OrganizationID, KeyID: r.KeyID, Filename: r.Filename, ContentType: r.ContentType, SHA256: r.Sha256, Size: int(r.Size),
			CreatedAt: r.CreatedAt.UTC(),
		}
	}
	return files, nil
}

// count counts the organization's uploads.
func count(ctx context.Context, client *db.Client, organizationID string) (int, error) {
	n, err := client.File.Query().Where(entfile.OrganizationID(organizationID)).Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("file: count: %w", err)
	}
	return n, nil
}

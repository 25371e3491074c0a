package blobbucket

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"gocloud.dev/blob/driver"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// writer collects a blob in a file without a name; Close brings it to the database.
type writer struct {
	ctx        context.Context
	db         *database.DB
	file       *os.File
	size       int64
	key        string
	attributes string
	onlyNew    bool
}

// NewTypedWriter implements driver.Bucket.
func (b bucket) NewTypedWriter(ctx context.Context, key, contentType string, opts *driver.WriterOptions) (driver.Writer, error) {
	if err := checkName(key); err != nil {
		return nil, err
	}
	text, err := json.Marshal(attributes{
		ContentType:        contentType,
		CacheControl:       opts.CacheControl,
		ContentDisposition: opts.ContentDisposition,
		ContentEncoding:    opts.ContentEncoding,
		ContentLanguage:    opts.ContentLanguage,
		Metadata:           opts.Metadata,
	})
	if err != nil {
		return nil, err
	}
	if len(text) > maxAttributes {
		return nil, errAttributes
	}
	if err := before(opts.BeforeWrite); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(b.folder, "blob")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &writer{ctx: ctx, db: b.db, file: file, key: key, attributes: string(text), onlyNew: opts.IfNotExist}, nil
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	if int64(len(p)) > MaxSize-w.size {
		return 0, errTooLarge
	}
	n, err := w.file.Write(p)
	w.size += int64(n)
	return n, err
}

// Close makes the blob visible, unless the context has ended.
func (w *writer) Close() error {
	defer w.file.Close() //nolint:errcheck // it has no name, nothing is lost
	if err := w.ctx.Err(); err != nil {
		return err
	}
	return w.db.InTx(w.ctx, w.save)
}

// save writes the row and the pieces. It may run several times.
func (w *writer) save(ctx context.Context, tx *database.Tx) error {
	id, err := begin(ctx, tx, w.key, w.size, w.attributes, w.onlyNew)
	if err != nil {
		return err
	}
	piece := make([]byte, min(pieceSize, w.size))
	for at := int64(0); at < w.size; at += pieceSize {
		n := min(pieceSize, w.size-at)
		if _, err := w.file.ReadAt(piece[:n], at); err != nil {
			return fmt.Errorf("read back what was written: %w", err)
		}
		_, err := tx.SQL().ExecContext(ctx, `INSERT INTO blob_pieces (blob_id, number, content) VALUES ($1, $2, $3)`, id, at/pieceSize, piece[:n])
		if err != nil {
			return err
		}
	}
	return nil
}

// begin writes the row of a blob, in place of what was there, and answers its id, for the pieces. From here to the end of the
// transaction others that write the same name wait.
func begin(ctx context.Context, tx *database.Tx, key string, size int64, attributes string, onlyNew bool) (id int64, err error) {
	conflict := `UPDATE SET etag = excluded.etag, size = excluded.size, attributes = excluded.attributes, modified_at = excluded.modified_at`
	if onlyNew {
		conflict = `NOTHING`
	}
	now := database.Now()
	err = tx.SQL().QueryRowContext(ctx, `INSERT INTO blobs (name, etag, size, attributes, created_at, modified_at)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO `+conflict+` RETURNING id`, []byte(key), rand.Text(), size, attributes, now, now).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, errThere
	}
	if err != nil {
		return 0, err
	}
	_, err = tx.SQL().ExecContext(ctx, `DELETE FROM blob_pieces WHERE blob_id = $1`, id)
	return id, err
}

package blobbucket

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"gocloud.dev/blob/driver"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// reader reads a range, a piece at a time.
type reader struct {
	ctx   context.Context
	db    *database.DB
	id    int64
	etag  string
	attrs driver.ReaderAttributes
	at    int64 // of the byte behind data
	end   int64 // of the range
	data  []byte
}

// part is the range of a reader's next fetch: length bytes from an offset in a piece, where length is at least 1.
type part struct{ number, offset, length int64 }

// partAt is the part from a position on, to the end of its piece or of the range.
func partAt(at, end int64) part {
	offset := at % pieceSize
	return part{number: at / pieceSize, offset: offset, length: min(pieceSize-offset, end-at)}
}

// NewRangeReader implements driver.Bucket. It fetches the first part together with the row: a small blob is one statement.
func (b bucket) NewRangeReader(ctx context.Context, key string, offset, length int64, opts *driver.ReaderOptions) (driver.Reader, error) {
	end := int64(MaxSize)
	if length >= 0 && offset <= MaxSize {
		end = min(offset+min(length, MaxSize), MaxSize)
	}
	first := part{length: 0}
	if offset < end {
		first = partAt(offset, end)
	}
	r := &reader{ctx: ctx, db: b.db}
	var text string
	var modified time.Time
	err := b.db.SQL().QueryRowContext(ctx, `SELECT b.id, b.etag, b.size, b.attributes, b.modified_at, substr(p.content, $3, $4)
		FROM blobs b LEFT JOIN blob_pieces p ON p.blob_id = b.id AND p.number = $2 WHERE b.name = $1`,
		[]byte(key), first.number, first.offset+1, first.length).Scan(&r.id, &r.etag, &r.attrs.Size, &text, &modified, &r.data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNotFound
	}
	if err != nil {
		return nil, err
	}
	var a attributes
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return nil, err
	}
	r.attrs.ContentType, r.attrs.ModTime = a.ContentType, modified
	r.at, r.end = offset+int64(len(r.data)), min(end, r.attrs.Size)
	return r, before(opts.BeforeRead)
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(r.data) == 0 {
		if r.at >= r.end {
			return 0, io.EOF
		}
		if err := r.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

// fetch gets the next part, if it is still of the blob that the reader was opened on.
func (r *reader) fetch() error {
	next := partAt(r.at, r.end)
	err := r.db.SQL().QueryRowContext(r.ctx, `SELECT substr(p.content, $4, $5) FROM blobs b JOIN blob_pieces p ON p.blob_id = b.id AND p.number = $3
		WHERE b.id = $1 AND b.etag = $2`, r.id, r.etag, next.number, next.offset+1, next.length).Scan(&r.data)
	if errors.Is(err, sql.ErrNoRows) {
		return errChanged
	}
	if err != nil {
		return err
	}
	if int64(len(r.data)) != next.length {
		return fmt.Errorf("piece %d of a blob has other bytes than its size says", next.number)
	}
	r.at += next.length
	return nil
}

// Close implements io.Closer.
func (r *reader) Close() error { return nil }

// Attributes implements driver.Reader.
func (r *reader) Attributes() *driver.ReaderAttributes { return &r.attrs }

// As implements driver.Reader.
func (r *reader) As(any) bool { return false }

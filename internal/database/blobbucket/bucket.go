package blobbucket

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// Limits of a blob.
const (
	// MaxSize is how many bytes a blob has at most: what a transaction writes in a few seconds.
	MaxSize = 1 << 30
	// MaxName is how many bytes a name has at most.
	MaxName = 1024
	// maxAttributes is how many bytes of attributes, as JSON, a blob has at most.
	maxAttributes = 64 << 10
	// pieceSize is how many bytes a piece has, and about how much memory a reader or writer needs.
	pieceSize = 256 << 10
)

var (
	errNotFound      = errors.New("there is no such blob")
	errThere         = errors.New("there is a blob of that name already")
	errName          = fmt.Errorf("a blob's name has 1 to %d bytes", MaxName)
	errTooLarge      = fmt.Errorf("a blob has at most %d bytes", MaxSize)
	errAttributes    = fmt.Errorf("a blob's attributes have at most %d bytes", maxAttributes)
	errChanged       = errors.New("the blob was written anew or deleted while it was read")
	errUnimplemented = errors.New("blobs in the database have no URLs")
)

var codes = map[error]gcerrors.ErrorCode{
	errNotFound:              gcerrors.NotFound,
	errThere:                 gcerrors.FailedPrecondition,
	errName:                  gcerrors.InvalidArgument,
	errTooLarge:              gcerrors.ResourceExhausted,
	errAttributes:            gcerrors.InvalidArgument,
	errChanged:               gcerrors.FailedPrecondition,
	errUnimplemented:         gcerrors.Unimplemented,
	context.Canceled:         gcerrors.Canceled,
	context.DeadlineExceeded: gcerrors.DeadlineExceeded,
}

// Open opens the bucket of a database, which stays the caller's: close the bucket first. What is being written waits in files without a
// name in a folder, the system's for temporary files where it is empty.
func Open(d *database.DB, folder string) *blob.Bucket { return blob.NewBucket(bucket{d, folder}) }

// bucket implements driver.Bucket.
type bucket struct {
	db     *database.DB
	folder string
}

// attributes is what blobs.attributes holds.
type attributes struct {
	ContentType        string            `json:"contentType,omitempty"`
	CacheControl       string            `json:"cacheControl,omitempty"`
	ContentDisposition string            `json:"contentDisposition,omitempty"`
	ContentEncoding    string            `json:"contentEncoding,omitempty"`
	ContentLanguage    string            `json:"contentLanguage,omitempty"`
	Metadata           map[string]string `json:"metadata,omitempty"`
}

// as says that there is nothing behind the portable types.
func as(any) bool { return false }

// before calls a callback that the caller may have given.
func before(f func(func(any) bool) error) error {
	if f == nil {
		return nil
	}
	return f(as)
}

// ErrorCode implements driver.Bucket.
func (bucket) ErrorCode(err error) gcerrors.ErrorCode {
	for known, code := range codes {
		if errors.Is(err, known) {
			return code
		}
	}
	return gcerrors.Unknown
}

// As implements driver.Bucket.
func (bucket) As(any) bool { return false }

// ErrorAs implements driver.Bucket.
func (bucket) ErrorAs(error, any) bool { return false }

// Close implements driver.Bucket.
func (bucket) Close() error { return nil }

// SignedURL implements driver.Bucket.
func (bucket) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errUnimplemented
}

// Attributes implements driver.Bucket.
func (b bucket) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	var etag, text string
	var size int64
	var created, modified time.Time
	err := b.db.SQL().QueryRowContext(ctx, `SELECT etag, size, attributes, created_at, modified_at FROM blobs WHERE name = $1`, []byte(key)).
		Scan(&etag, &size, &text, &created, &modified)
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
	return &driver.Attributes{
		ContentType:        a.ContentType,
		CacheControl:       a.CacheControl,
		ContentDisposition: a.ContentDisposition,
		ContentEncoding:    a.ContentEncoding,
		ContentLanguage:    a.ContentLanguage,
		Metadata:           a.Metadata,
		CreateTime:         created,
		ModTime:            modified,
		Size:               size,
		ETag:               `"` + etag + `"`,
	}, nil
}

// Delete implements driver.Bucket. The pieces go with the row, in the transaction of the context where it has one.
func (b bucket) Delete(ctx context.Context, key string, opts *driver.DeleteOptions) error {
	if err := before(opts.BeforeDelete); err != nil {
		return err
	}
	return b.db.Join(ctx, func(ctx context.Context, tx *database.Tx) error {
		result, err := tx.SQL().ExecContext(ctx, `DELETE FROM blobs WHERE name = $1`, []byte(key))
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return errNotFound
	})
}

// Copy implements driver.Bucket.
func (b bucket) Copy(ctx context.Context, dstKey, srcKey string, opts *driver.CopyOptions) error {
	if err := checkName(dstKey); err != nil {
		return err
	}
	if err := before(opts.BeforeCopy); err != nil {
		return err
	}
	return b.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		lock := ""
		if tx.Dialect() == database.Postgres {
			lock = " FOR UPDATE" // nobody writes it anew in between
		}
		var from, size int64
		var text string
		err := tx.SQL().QueryRowContext(ctx, `SELECT id, size, attributes FROM blobs WHERE name = $1`+lock, []byte(srcKey)).Scan(&from, &size, &text)
		if errors.Is(err, sql.ErrNoRows) {
			return errNotFound
		}
		if err != nil || srcKey == dstKey {
			return err
		}
		to, err := begin(ctx, tx, dstKey, size, text, false)
		if err != nil {
			return err
		}
		_, err = tx.SQL().ExecContext(ctx,
			`INSERT INTO blob_pieces (blob_id, number, content) SELECT $1, number, content FROM blob_pieces WHERE blob_id = $2`, to, from)
		return err
	})
}

func checkName(key string) error {
	if key == "" || len(key) > MaxName {
		return errName
	}
	return nil
}

package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/gcerrors"
)

// Errors of this package; compare with errors.Is.
var (
	// ErrNotFound: nothing is kept under that hash or name.
	ErrNotFound = errors.New("blob: not found")
	// ErrTooLarge: there are more bytes than the limit; nothing was kept.
	ErrTooLarge = errors.New("blob: too large")
	// ErrBadKey: not a SHA-256 in lower-case hexadecimal, or not a name.
	ErrBadKey = errors.New("blob: not a SHA-256 or name")
)

// Ref names bytes that were put.
type Ref struct {
	// SHA256 in lower-case hexadecimal.
	SHA256 string
	// Size in bytes.
	Size int64
}

// Store is a bucket. Its methods may be called from any goroutine.
type Store struct{ bucket *blob.Bucket }

// Open opens a bucket: a folder, made where it is missing, as a path or file:// URL; or mem://, one of its own that is gone with
// the process.
func Open(location string) (*Store, error) {
	scheme, _, isURL := strings.Cut(location, "://")
	switch {
	case location == "":
		return nil, errors.New("blob: no folder given")
	case !isURL:
		return openFolder(location)
	case scheme == "mem":
		return &Store{memblob.OpenBucket(nil)}, nil
	case scheme == "file":
		u, err := url.Parse(location)
		if err != nil || u.Host != "" || !filepath.IsAbs(u.Path) || u.RawQuery != "" {
			return nil, errors.New("blob: not a file URL (file:///folder)")
		}
		return openFolder(u.Path)
	default:
		return nil, fmt.Errorf("blob: this build has no driver for %s:// (a folder or file:// URL is taken)", scheme)
	}
}

// New is a store in a bucket that was opened otherwise; Close closes it.
func New(bucket *blob.Bucket) *Store { return &Store{bucket} }

func openFolder(path string) (*Store, error) {
	bucket, err := fileblob.OpenBucket(path, &fileblob.Options{
		CreateDir:   true,
		DirFileMode: 0o700,
		NoTempDir:   true, // renames must not cross file systems
		Metadata:    fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return &Store{bucket}, nil
}

// Close frees the bucket.
func (s *Store) Close() error { return s.bucket.Close() }

// Put keeps at most limit bytes of r, to its end, under their SHA-256.
func (s *Store) Put(ctx context.Context, r io.Reader, limit int64) (Ref, error) {
	return s.PutAfter(ctx, r, limit, func(Ref) error { return nil })
}

// PutAfter is Put for who notes which bytes are kept: known is called when their SHA-256 is, and before anything is written, or found to be there already. Its
// error is answered, and nothing is kept.
func (s *Store) PutAfter(ctx context.Context, r io.Reader, limit int64, known func(Ref) error) (Ref, error) {
	// The key is known when the last byte is: they wait in a file without a name.
	waiting, err := os.CreateTemp("", "blob")
	if err != nil {
		return Ref{}, fmt.Errorf("blob: %w", err)
	}
	defer waiting.Close()
	if err := os.Remove(waiting.Name()); err != nil {
		return Ref{}, fmt.Errorf("blob: %w", err)
	}
	sum := sha256.New()
	size, err := copyBounded(io.MultiWriter(waiting, sum), r, limit)
	if err != nil {
		return Ref{}, err
	}
	ref := Ref{hex.EncodeToString(sum.Sum(nil)), size}
	key, _ := hashKey(ref.SHA256)
	if err := known(ref); err != nil {
		return Ref{}, err
	}
	if there, err := s.bucket.Exists(ctx, key); err != nil || there {
		return ref, wrap(err)
	}
	if _, err := waiting.Seek(0, io.SeekStart); err != nil {
		return Ref{}, fmt.Errorf("blob: %w", err)
	}
	// Who put the same bytes meanwhile put these: they are not written again under a reader.
	err = s.write(ctx, key, waiting, size, true)
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		err = nil
	}
	return ref, err
}

// Open reads length bytes from an offset on; a length below 0 reads to the end. Close the reader.
func (s *Store) Open(ctx context.Context, sha256 string, offset, length int64) (io.ReadCloser, error) {
	key, err := hashKey(sha256)
	if err != nil {
		return nil, err
	}
	return s.read(ctx, key, offset, length)
}

// Delete forgets bytes; it is no error if there are none.
func (s *Store) Delete(ctx context.Context, sha256 string) error {
	key, err := hashKey(sha256)
	if err != nil {
		return err
	}
	return s.remove(ctx, key)
}

// PutNamed keeps at most limit bytes of r under a name, in place of what was there. A name is a word, a slash, and an id:
// output/01J…
func (s *Store) PutNamed(ctx context.Context, name string, r io.Reader, limit int64) (size int64, err error) {
	key, err := nameKey(name)
	if err != nil {
		return 0, err
	}
	counted := &counter{r: r}
	if err := s.write(ctx, key, counted, limit, false); err != nil {
		return 0, err
	}
	return counted.n, nil
}

// OpenNamed reads length bytes of a named blob from an offset on; a length below 0 reads to the end. Close the reader.
func (s *Store) OpenNamed(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	key, err := nameKey(name)
	if err != nil {
		return nil, err
	}
	return s.read(ctx, key, offset, length)
}

// DeleteNamed forgets a named blob; it is no error if there is none.
func (s *Store) DeleteNamed(ctx context.Context, name string) error {
	key, err := nameKey(name)
	if err != nil {
		return err
	}
	return s.remove(ctx, key)
}

// write writes a blob, in place of one that is there; with onlyNew that fails its precondition.
func (s *Store) write(ctx context.Context, key string, r io.Reader, limit int64, onlyNew bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{ContentType: "application/octet-stream", IfNotExist: onlyNew})
	if err != nil {
		return wrap(err)
	}
	if _, err := copyBounded(w, r, limit); err != nil {
		cancel() // a writer whose context has ended keeps nothing
		_ = w.Close()
		return err
	}
	return wrap(w.Close())
}

func (s *Store) read(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, err := s.bucket.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, wrap(err)
	}
	return r, nil
}

func (s *Store) remove(ctx context.Context, key string) error {
	if err := wrap(s.bucket.Delete(ctx, key)); !errors.Is(err, ErrNotFound) {
		return err
	}
	return nil
}

var (
	hashes = regexp.MustCompile(`\A[0-9a-f]{64}\z`)
	names  = regexp.MustCompile(`\A[a-z]{1,32}/[A-Za-z0-9_-]{1,128}\z`)
)

func hashKey(sha256 string) (string, error) {
	if !hashes.MatchString(sha256) {
		return "", ErrBadKey
	}
	return "sha256/" + sha256[:2] + "/" + sha256, nil
}

func nameKey(name string) (string, error) {
	if !names.MatchString(name) {
		return "", ErrBadKey
	}
	return "named/" + name, nil
}

// copyBytes is how much is copied at once.
const copyBytes = 64 << 10

// copyBounded copies to the end of r, or fails where there are more than limit bytes.
func copyBounded(w io.Writer, r io.Reader, limit int64) (int64, error) {
	// A bucket's writer would read by itself, into a new buffer of its largest size each time: most blobs are small.
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{io.LimitReader(r, limit)}, make([]byte, min(limit+1, copyBytes)))
	if err != nil {
		return n, fmt.Errorf("blob: %w", err)
	}
	if n < limit {
		return n, nil
	}
	var more [1]byte
	switch _, err := io.ReadFull(r, more[:]); {
	case err == nil:
		return n, ErrTooLarge
	case !errors.Is(err, io.EOF):
		return n, fmt.Errorf("blob: %w", err)
	}
	return n, nil
}

func wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case gcerrors.Code(err) == gcerrors.NotFound:
		return ErrNotFound
	default:
		return fmt.Errorf("blob: %w", err)
	}
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

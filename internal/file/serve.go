package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// ServeContent answers a GET or HEAD of bytes, whole or in ranges (RFC 9110): their SHA-256 is the strong ETag, so that If-None-Match, If-Match and If-Range
// work; a browser saves them under the name and shows none of them in a page of this server's (S2-fget). An error was not written: the caller answers it.
func (s *Service) ServeContent(w http.ResponseWriter, r *http.Request, c Content, name, contentType string) error {
	if err := s.there(r.Context(), c); err != nil {
		return err
	}
	h := w.Header()
	h.Set("ETag", `"`+c.SHA256+`"`)
	h.Set("Content-Type", contentType)
	h.Set("Content-Disposition", disposition(name))
	h.Set("Cache-Control", "private, no-cache") // kept, and asked for again with If-None-Match: a key may be revoked
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	bytes := &seeker{size: c.Size, open: func(offset int64) (io.ReadCloser, error) { return s.OpenContent(r.Context(), c.SHA256, offset, -1) }}
	defer bytes.close()
	// A reading that fails ends the answer short of its Content-Length, which a client sees.
	http.ServeContent(w, r, "", time.Time{}, bytes)
	return nil
}

// there says whether bytes that a row refers to are kept: told before an answer begins.
func (s *Service) there(ctx context.Context, c Content) error {
	r, err := s.OpenContent(ctx, c.SHA256, 0, min(c.Size, 1))
	if errors.Is(err, blob.ErrNotFound) {
		return fault.NewProblem(fault.Missing, "these bytes are not kept any more")
	}
	if err != nil {
		return fmt.Errorf("file: open bytes: %w", err)
	}
	return r.Close()
}

// seeker reads bytes from wherever it is moved to. Moving reads nothing.
type seeker struct {
	open     func(offset int64) (io.ReadCloser, error)
	size, at int64
	reader   io.ReadCloser // at `at`; nil: not open
}

// Seek implements io.Seeker.
func (s *seeker) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.at
	case io.SeekEnd:
		offset += s.size
	}
	if offset < 0 {
		return 0, errors.New("file: a place before the start")
	}
	if offset != s.at {
		s.close()
		s.at = offset
	}
	return offset, nil
}

// Read implements io.Reader.
func (s *seeker) Read(p []byte) (n int, err error) {
	if s.at >= s.size {
		return 0, io.EOF
	}
	if s.reader == nil {
		if s.reader, err = s.open(s.at); err != nil {
			return 0, err
		}
	}
	n, err = s.reader.Read(p)
	s.at += int64(n)
	return n, err
}

func (s *seeker) close() {
	if s.reader != nil {
		_ = s.reader.Close() // it was only read
		s.reader = nil
	}
}

// maxDispositionBytes bounds the name in a header, in bytes before they are escaped.
const maxDispositionBytes = 1024

// disposition has a browser save what it gets under a name, which may hold anything: in ASCII for old ones, and as it is (RFC 6266, RFC 8187), without what could
// show a name as another one or lead out of a folder.
func disposition(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == utf8.RuneError || unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control) || r == '\u2028' || r == '\u2029' {
			return '_'
		}
		return r
	}, name)
	for len(name) > maxDispositionBytes {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	if strings.Trim(name, ". ") == "" {
		name = "file"
	}
	plain := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || strings.ContainsRune(`"%;`, r) {
			return '_'
		}
		return r
	}, name)
	header := `attachment; filename="` + plain + `"`
	if plain != name {
		header += "; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	}
	return header
}

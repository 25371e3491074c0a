package file

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// ServeContent answers a GET or HEAD of bytes, whole or in ranges (RFC 9110): their SHA-256 is the strong ETag, so that If-None-Match, If-Match and If-Range
// work; a browser saves them under the name and shows none of them in a page of this server's (S2-fget). An error was not written: the caller answers it.
func (s *Service) ServeContent(w http.ResponseWriter, r *http.Request, c Content, name, contentType string) error {
	return serveContent(w, r, c, name, contentType, func(offset, length int64) (io.ReadCloser, error) {
		return s.OpenContent(r.Context(), c.SHA256, offset, length)
	})
}

// serveContent is ServeContent of bytes that open opens.
func serveContent(w http.ResponseWriter, r *http.Request, c Content, name, contentType string, open opener) error {
	r, wanted := understood(r, c.Size)
	bytes := &seeker{size: c.Size, open: open}
	defer bytes.close()
	if err := bytes.begin(r, wanted); err != nil {
		return err
	}
	h := w.Header()
	h.Set("ETag", `"`+c.SHA256+`"`)
	h.Set("Content-Type", contentType)
	h.Set("Content-Disposition", disposition(name))
	h.Set("Cache-Control", "private, no-cache") // kept, and asked for again with If-None-Match: a key may be revoked
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	// A reading that fails ends the answer short of its Content-Length, which a client sees.
	http.ServeContent(w, r, "", time.Time{}, bytes)
	return nil
}

// opener opens bytes from an offset on; length < 0: to the end.
type opener func(offset, length int64) (io.ReadCloser, error)

// seeker reads bytes from wherever it is moved to. Moving reads nothing. http.ServeContent reads several ranges in a goroutine of its own, which it leaves behind
// where the client goes away: so it is locked, and opens nothing once it is closed.
type seeker struct {
	open opener
	size int64

	mu     sync.Mutex
	at     int64         // what is read next
	reader io.ReadCloser // nil: not open
	place  int64         // where the reader is
	closed bool
}

// begin finds out whether the bytes are kept, before an answer begins. Where they will be read from is known for most requests: there it stays open.
func (s *seeker) begin(r *http.Request, wanted []span) error {
	place, length := int64(0), int64(-1)
	if len(wanted) > 0 {
		place = min(wanted[0].first, s.size)
	}
	looks := r.Method == http.MethodHead || r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Match") != "" || place == s.size
	if looks {
		place, length = 0, min(s.size, 1)
	}
	reader, err := s.open(place, length)
	if errors.Is(err, blob.ErrNotFound) {
		return fault.NewProblem(fault.Missing, "these bytes are not kept any more")
	}
	if err != nil {
		return fmt.Errorf("file: open bytes: %w", err)
	}
	if looks {
		return reader.Close()
	}
	s.reader, s.place = reader, place
	return nil
}

// Seek implements io.Seeker.
func (s *seeker) Seek(offset int64, whence int) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		offset += s.at
	case io.SeekEnd:
		offset += s.size
	}
	if offset < 0 {
		return 0, errors.New("file: a place before the start")
	}
	s.at = offset
	return offset, nil
}

// maxSkipped is how many bytes are read over rather than opened anew behind them.
const maxSkipped = 64 << 10

// Read implements io.Reader.
func (s *seeker) Read(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errors.New("file: read behind its end")
	}
	if s.at >= s.size {
		return 0, io.EOF
	}
	if err := s.move(); err != nil {
		return 0, err
	}
	n, err = s.reader.Read(p)
	s.at += int64(n)
	s.place = s.at
	return n, err
}

// move has the reader at s.at.
func (s *seeker) move() (err error) {
	if ahead := s.at - s.place; s.reader != nil && ahead > 0 && ahead <= maxSkipped {
		n, err := io.CopyN(io.Discard, s.reader, ahead)
		s.place += n
		return err
	}
	if s.reader != nil && s.place == s.at {
		return nil
	}
	s.drop()
	s.reader, err = s.open(s.at, -1)
	s.place = s.at
	return err
}

func (s *seeker) drop() {
	if s.reader != nil {
		_ = s.reader.Close() // it was only read
		s.reader = nil
	}
}

// close waits for a reading under way.
func (s *seeker) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	s.closed = true
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

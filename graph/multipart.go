package graph

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/upload"
)

// Bounds of a multipart request. Its part "operations" is bounded as every body is.
const (
	// MaxUploads is how many files come with one request, MaxUploadBytes how large each is.
	MaxUploads     = 10
	MaxUploadBytes = 32 << 20
	// maxUploadsBytes bounds them together.
	maxUploadsBytes = 64 << 20
	maxMapBytes     = 16 << 10
	// uploadsAtOnce is how many requests with files there are at a time, uploadsOfKey how many of one key: each keeps as much as maxUploadsBytes on the disk.
	uploadsAtOnce = 64
	uploadsOfKey  = 8
	// uploadPause is how long a client may send nothing, uploadTime how long all of it may take.
	uploadPause = 30 * time.Second
	uploadTime  = 10 * time.Minute
)

// isMultipart answers the boundary of a multipart/form-data body.
func isMultipart(contentType string) (boundary string, ok bool) {
	media, params, err := mime.ParseMediaType(contentType)
	return params["boundary"], err == nil && media == "multipart/form-data" && params["boundary"] != ""
}

// multipartRequest is a request with files (github.com/jaydenseric/graphql-multipart-request-spec) while it is read. A browser may send one to anywhere without asking, but
// not with the header Authorization, without which nothing of it is read.
type multipartRequest struct {
	req     *request
	places  map[string][]string // by the name of a part: the paths of the variables that stand for its file
	uploads map[string]*upload.Upload
	files   []*os.File // what is closed at the end
	bytes   int64      // of all files
	leave   func()     // gives its place among such requests up
}

// readMultipart reads a request with files. The files wait in places without a name on the disk until req.close.
func (h *Handler) readMultipart(w http.ResponseWriter, r *http.Request, who caller, boundary string) (*request, int, *gqlerror.Error) {
	leave, ok := h.uploading.enter(who.key)
	if !ok {
		w.Header().Set("Connection", "close")
		return nil, http.StatusServiceUnavailable, refuse(fault.Unavailable, "too many requests with files at once: try again when one of them has been answered")
	}
	m := &multipartRequest{uploads: map[string]*upload.Upload{}, leave: leave}
	body := patient(w, r.Body)
	err := m.read(multipart.NewReader(body, boundary), h.limits.Body)
	if err == nil {
		err = epilogue(body)
	}
	if err == nil {
		err = m.place()
	}
	if err == nil {
		m.req.uploads, m.req.close = m.uploads, m.close
		return m.req, 0, nil
	}
	m.close()
	// The rest is read, up to a bound, as a client that is still sending would take a closed connection for the answer.
	_, _ = io.CopyN(io.Discard, r.Body, drained)
	w.Header().Set("Connection", "close")
	status := http.StatusBadRequest
	if p, ok := errors.AsType[*fault.Problem](err); ok && p.Code == fault.LimitExceeded {
		status = http.StatusRequestEntityTooLarge
	}
	return nil, status, err
}

// maxEpilogue is how many bytes may follow the last part: there is nothing to say there.
const maxEpilogue = 64 << 10

// epilogue reads what follows the last part, to the end of the body: net/http does not notice before that whether the client leaves, and a body in chunks ends behind
// its parts.
func epilogue(body io.Reader) *gqlerror.Error {
	n, err := io.CopyN(io.Discard, body, maxEpilogue+1)
	if n > maxEpilogue {
		return exceeded("the length of what follows the last part in bytes", maxEpilogue)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return broken(err)
	}
	return nil
}

// patient reads a body for as long as it goes on coming.
func patient(w http.ResponseWriter, body io.Reader) io.Reader {
	control, until := http.NewResponseController(w), time.Now().Add(uploadTime)
	return readerFunc(func(p []byte) (int, error) {
		pause := time.Now().Add(uploadPause)
		if pause.After(until) {
			pause = until
		}
		_ = control.SetReadDeadline(pause)
		return body.Read(p)
	})
}

type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// read reads the parts: operations, map, then files.
func (m *multipartRequest) read(parts *multipart.Reader, limit int) *gqlerror.Error {
	operations, err := part(parts, "operations", limit)
	if err != nil {
		return err
	}
	if m.req, err = parseRequest(operations); err != nil {
		return err
	}
	places, err := part(parts, "map", maxMapBytes)
	if err != nil {
		return err
	}
	if m.places, err = readPlaces(places); err != nil {
		return err
	}
	for {
		p, failure := parts.NextPart()
		if errors.Is(failure, io.EOF) {
			return nil
		}
		if failure != nil {
			return broken(failure)
		}
		if err := m.file(p); err != nil {
			return err
		}
	}
}

// part reads a part that is text.
func part(parts *multipart.Reader, name string, limit int) ([]byte, *gqlerror.Error) {
	p, err := parts.NextPart()
	if errors.Is(err, io.EOF) || err == nil && (p.FormName() != name || p.FileName() != "") {
		return nil, refuse(fault.BadRequest, "the parts of a multipart request are operations, map, then the files, in this order: %s is missing", name)
	}
	if err != nil {
		return nil, broken(err)
	}
	b, err := readLimited(p, limit)
	if errors.Is(err, errTooLarge) {
		return nil, exceeded("the length of the part "+name+" in bytes", limit)
	}
	if err != nil {
		return nil, broken(err)
	}
	return b, nil
}

func broken(err error) *gqlerror.Error {
	e := refuse(fault.BadRequest, "the multipart body is broken, or did not come whole")
	e.Err = errors.Join(e.Err, err)
	return e
}

// file takes a file's part, which must be one that map names.
func (m *multipartRequest) file(p *multipart.Part) *gqlerror.Error {
	name := p.FormName()
	if _, known := m.places[name]; !known || m.uploads[name] != nil {
		return refuse(fault.BadRequest, "the part %q is not in map, or comes twice", name)
	}
	f, err := os.CreateTemp("", "upload")
	if err != nil {
		return gqlerror.Wrap(fmt.Errorf("an upload: %w", err))
	}
	m.files = append(m.files, f)
	if err := os.Remove(f.Name()); err != nil {
		return gqlerror.Wrap(fmt.Errorf("an upload: %w", err))
	}
	into := &writeErrors{w: f}
	n, err := io.Copy(into, io.LimitReader(p, min(MaxUploadBytes, maxUploadsBytes-m.bytes)+1))
	if m.bytes += n; n > MaxUploadBytes {
		return exceeded("the length of a file in bytes", MaxUploadBytes)
	}
	if m.bytes > maxUploadsBytes {
		return exceeded("the length of all files of a request in bytes", maxUploadsBytes)
	}
	if into.err != nil {
		return gqlerror.Wrap(fmt.Errorf("an upload: %w", into.err))
	}
	if err != nil {
		return broken(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return gqlerror.Wrap(fmt.Errorf("an upload: %w", err))
	}
	m.uploads[name] = &upload.Upload{Filename: filename(p), ContentType: p.Header.Get("Content-Type"), Size: n, Content: f}
	return nil
}

// filename answers the name that a client gave a file, all of it: Part.FileName would take what comes behind the last slash, and let a path pass for a name.
func filename(p *multipart.Part) string {
	_, params, _ := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
	return params["filename"]
}

// writeErrors tells a disk that is full from a client that went away.
type writeErrors struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (w *writeErrors) Write(p []byte) (n int, err error) {
	n, err = w.w.Write(p)
	w.err = errors.Join(w.err, err)
	return n, err
}

// close gives up what was read.
func (m *multipartRequest) close() {
	for _, f := range m.files {
		_ = f.Close() // it has no name, and is gone with this
	}
	m.leave()
}

// uploading bounds the requests with files that are read or answered at a time, all and each key's: as much as they hold is on the disk.
type uploading struct {
	mu    sync.Mutex
	all   int
	ofKey map[string]int // by the key's id
}

// enter takes a place; leave gives it up.
func (u *uploading) enter(key string) (leave func(), ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all >= uploadsAtOnce || u.ofKey[key] >= uploadsOfKey {
		return nil, false
	}
	if u.ofKey == nil {
		u.ofKey = map[string]int{}
	}
	u.all++
	u.ofKey[key]++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.all--
		if u.ofKey[key]--; u.ofKey[key] == 0 {
			delete(u.ofKey, key)
		}
	}, true
}

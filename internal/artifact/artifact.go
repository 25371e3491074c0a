package artifact

import (
	"context"
	"io"
	"time"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/file"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

const (
	// MaxPerCall is how many artifacts a call has at most, MaxBytes how large each is (S2-art).
	MaxPerCall = 10
	MaxBytes   = 25 << 20
	// MaxContent is the largest artifact whose bytes are answered as a value, MaxContents how many such bytes one answer has.
	MaxContent  = 5 << 20
	MaxContents = 20 << 20
)

// Artifact is a kept file of a call (SDL: Artifact).
type Artifact struct {
	ID             string
	OrganizationID string
	CallID         string
	Bytes          []byte // the name, as the program gave it
	ContentType    string
	SHA256         string // lower-case hex
	Size           int
	CreatedAt      time.Time
}

// Name is the name as text: each byte that is no UTF-8 reads as U+FFFD.
func (a *Artifact) Name() string { return Readable(a.Bytes) }

// URL is the path of its bytes.
func (a *Artifact) URL() string { return "/artifacts/" + a.ID }

// Readable reads the bytes of a file's name as UTF-8: each that is none becomes U+FFFD.
func Readable(name []byte) string {
	if utf8.Valid(name) {
		return string(name)
	}
	return string([]rune(string(name)))
}

// Service holds the use cases of artifacts.
type Service struct {
	db    *database.DB
	files *file.Service
}

// NewService makes the service.
func NewService(db *database.DB, files *file.Service) *Service {
	return &Service{db: db, files: files}
}

// Keep keeps a file's bytes, up to their end. It is an artifact once Insert has written it.
func (s *Service) Keep(ctx context.Context, name string, content io.Reader) (*Artifact, error) {
	head, content := peek(content)
	kept, err := s.files.Keep(ctx, content, MaxBytes)
	if err != nil {
		return nil, err
	}
	return &Artifact{ID: id.New(id.Artifact), Bytes: []byte(name), ContentType: contentType(name, head), SHA256: kept.SHA256, Size: int(kept.Size)}, nil
}

// Insert writes artifacts of a call, in their order, in the transaction that writes its end.
func (s *Service) Insert(ctx context.Context, tx *database.Tx, organizationID, callID string, artifacts []*Artifact, at time.Time) error {
	if len(artifacts) == 0 {
		return nil
	}
	contents := make([]file.Content, len(artifacts))
	for i, a := range artifacts {
		a.OrganizationID, a.CallID, a.CreatedAt = organizationID, callID, at
		contents[i] = file.Content{SHA256: a.SHA256, Size: int64(a.Size)}
	}
	if err := s.files.Refer(ctx, tx, contents...); err != nil {
		return err
	}
	return insert(ctx, tx, artifacts)
}

// OfCalls answers the artifacts of calls, by name, each by its call's id, in one statement.
func (s *Service) OfCalls(ctx context.Context, organizationID string, callIDs []string) (map[string][]*Artifact, error) {
	return ofCalls(ctx, s.db.Read(), organizationID, id.Only(id.Call, callIDs))
}

// ByIDs answers the organization's artifacts with these ids that the viewer sees, in one statement: what the call of a draft wrote, only a key with MANAGEMENT
// sees (S2-draft).
func (s *Service) ByIDs(ctx context.Context, organizationID string, ids []string) (map[string]*Artifact, error) {
	v, err := key.From(ctx)
	return byIDs(ctx, s.db.Read(), organizationID, id.Only(id.Artifact, ids), err == nil && v.Has(key.Management))
}

// Read answers the artifact whose bytes are asked for; nil where there is none. It needs ARTIFACTS.
func (s *Service) Read(ctx context.Context, artifactID string) (*Artifact, error) {
	v, err := key.Permitted(ctx, key.Artifacts)
	if err != nil {
		return nil, err
	}
	found, err := s.ByIDs(ctx, v.Organization.ID, []string{artifactID})
	return found[artifactID], err
}

// Content answers the artifact's bytes; nil where they are more than MaxContent, or more than are left of what one answer has: take says how many it
// takes of them. It needs ARTIFACTS.
func (s *Service) Content(ctx context.Context, a *Artifact, take func(size int) bool) ([]byte, error) {
	if _, err := key.Permitted(ctx, key.Artifacts); err != nil {
		return nil, err
	}
	if a.Size > MaxContent || !take(a.Size) {
		return nil, nil
	}
	r, err := s.files.OpenContent(ctx, a.SHA256, 0, -1)
	if err != nil {
		return nil, fault.NewProblem(fault.Unavailable, "the bytes of %s cannot be read now", a.ID).Because(err)
	}
	defer r.Close() //nolint:errcheck // it was read
	b := make([]byte, a.Size)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fault.NewProblem(fault.Unavailable, "the bytes of %s cannot be read now", a.ID).Because(err)
	}
	return b, nil
}

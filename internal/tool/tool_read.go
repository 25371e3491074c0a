package tool

import (
	"cmp"
	"context"
	"slices"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Service holds the use cases of an organization's tools.
type Service struct {
	db      *database.DB
	scripts *script.Service
}

// NewService makes the service.
func NewService(db *database.DB, scripts *script.Service) *Service {
	return &Service{db: db, scripts: scripts}
}

// ByName answers the organization's tool of the name in its latest version, as the model sees it; nil where there is none, or none for the
// viewer's key (S2-toolget).
func (s *Service) ByName(ctx context.Context, name string) (*Tool, error) {
	if text.IsPattern(name) {
		return nil, nil
	}
	tools, err := s.Matching(ctx, []string{name})
	if err != nil || len(tools) == 0 {
		return nil, err
	}
	return tools[0], nil
}

// Matching answers the organization's tools that the names and patterns stand for, by name; nil: all. Drafts are none of them, and neither is what the
// key's rules deny (S2-toolget, S2-policy).
func (s *Service) Matching(ctx context.Context, names []string) ([]*Tool, error) {
	v, err := key.From(ctx)
	if err != nil {
		return nil, err
	}
	if len(names) > MaxEntries {
		return nil, fault.NewProblem(fault.LimitExceeded, "names has %d names and patterns; %d are allowed", len(names), MaxEntries)
	}
	if names == nil {
		names = []string{"*"}
	}
	valid := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !text.ValidPattern(name) })
	latest, err := s.latest(ctx, s.db.SQL(), v.Organization.ID, Choice{Toolset: valid}.names())
	if err != nil {
		return nil, err
	}
	chosen := map[string]*script.Entry{}
	Choice{Toolset: valid}.addFitting(v, latest, chosen)
	tools := make([]*Tool, 0, len(chosen))
	for _, e := range chosen {
		tools = append(tools, OfPackage(e))
	}
	sortByName(tools)
	if tooMany(tools) {
		return nil, fault.NewProblem(fault.LimitExceeded, "there are more than %d of these tools, or they are larger than %d bytes together: ask for fewer", MaxTools, maxToolBytes)
	}
	return tools, nil
}

func sortByName(tools []*Tool) {
	slices.SortFunc(tools, func(a, b *Tool) int { return cmp.Compare(a.Name, b.Name) })
}

func tooMany(tools []*Tool) bool {
	size := 0
	for _, t := range tools {
		size += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return len(tools) > MaxTools || size > maxToolBytes
}

package script

import (
	"context"
	"fmt"

	"github.com/aymanbagabas/go-udiff"

	"github.com/scriptorium-dev/scriptorium/internal/id"
)

// pair is a version's source and the one that it is compared with.
type pair struct {
	versionID, name  string
	number, from     int
	source, original string
}

// Diffs answers, by the version's id, the unified diff of each version's source against that of another version of its script: the one with
// the number from, or the one before where that is nil; 0 is nothing. A version whose script has no such version has no entry. One statement.
func (s *Service) Diffs(ctx context.Context, organizationID string, versionIDs []string, from *int) (map[string]*string, error) {
	pairs, err := readPairs(ctx, s.db.SQL(), organizationID, id.Only(id.Version, versionIDs), from)
	if err != nil {
		return nil, err
	}
	found := make(map[string]*string, len(pairs))
	for _, p := range pairs {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		text, err := p.diff()
		if err != nil {
			return nil, err
		}
		found[p.versionID] = &text
	}
	return found, nil
}

// diff is the pair's unified diff with three lines of context, empty where the sources are the same. Its work is bounded: sources that differ
// in more than a hundred places get a correct diff that may not be the shortest.
func (p pair) diff() (string, error) {
	label := func(number int) string {
		if number == 0 {
			return "/dev/null"
		}
		return fmt.Sprintf("%s\tversion %d", Path(p.name), number)
	}
	text, err := udiff.ToUnified(label(p.from), label(p.number), p.original, udiff.Lines(p.original, p.source), udiff.DefaultContextLines)
	if err != nil {
		return "", fmt.Errorf("version: diff: %w", err)
	}
	return text, nil
}

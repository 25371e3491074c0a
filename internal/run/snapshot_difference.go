package run

import "context"

// DifferenceKind says how the live catalog differs from a snapshot at one name (SDL: SnapshotDifferenceKind).
type DifferenceKind string

// The kinds of differences.
const (
	Added   DifferenceKind = "ADDED"
	Changed DifferenceKind = "CHANGED"
	Removed DifferenceKind = "REMOVED"
)

// SnapshotDifference is a name at which a snapshot and the live catalog of its agent differ now (SDL: SnapshotDifference).
type SnapshotDifference struct {
	Name string
	// TakenID is the version that the snapshot has, LiveID the latest one of the catalog's script; one of them may be "".
	TakenID, LiveID string
}

// Kind is how the live catalog differs.
func (d *SnapshotDifference) Kind() DifferenceKind {
	switch {
	case d.TakenID == "":
		return Added
	case d.LiveID == "":
		return Removed
	}
	return Changed
}

// SnapshotDifferences answers where snapshots and the live catalogs of their agents differ, by name, each by its snapshot's id, in one
// statement (S1-listlive).
func (s *Service) SnapshotDifferences(ctx context.Context, organizationID string, snapshotIDs []string) (map[string][]*SnapshotDifference, error) {
	return differencesOf(ctx, s.db, organizationID, snapshotIDs)
}

package run

import (
	"encoding/json"
	"time"
)

// Snapshot is what a run took of its agent's scripts when it was created (SDL: Snapshot; S1-snap).
type Snapshot struct {
	ID             string
	OrganizationID string
	RunID          string
	CreatedAt      time.Time
}

// SnapshotEntry is one script in a snapshot (SDL: SnapshotEntry). It goes when the script is deleted (S1-delnow). Its source is its version's.
type SnapshotEntry struct {
	ScriptID    string
	VersionID   string
	Version     int
	Name        string
	Description string
	Parameters  json.RawMessage // nil: none
	SourceHash  string
}

package call

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// EndReason says what ended a call (SDL: CallEndReason).
type EndReason string

// The reasons.
const (
	EndExit      EndReason = "EXIT"
	EndSignal    EndReason = "SIGNAL"
	EndTime      EndReason = "TIME"
	EndMemory    EndReason = "MEMORY"
	EndOutput    EndReason = "OUTPUT"
	EndCancelled EndReason = "CANCELLED"
	EndDeleted   EndReason = "DELETED"
	EndLost      EndReason = "LOST"
)

// endOf is the reason of an end that came from outside of the program, by its code; empty for a call that was refused: nothing ended.
func endOf(code ErrorCode) EndReason {
	return map[ErrorCode]EndReason{ByRequest: EndCancelled, ScriptDeleted: EndDeleted, ComputerLost: EndLost}[code]
}

// Evidence is what is known of an ended call's run (SDL: CallEvidence). A nil number was not measured.
type Evidence struct {
	WallMs, CPUMs   *int
	PeakMemoryBytes *int64
	Reason          EndReason
	ProcessesKilled *int
	isolation       []byte // as it is kept: JSON, nil where it is not known
}

// Evidence answers the call's, nil until it has ended and where it was refused.
func (c *Call) Evidence() *Evidence {
	if c.endReason == nil {
		return nil
	}
	return &Evidence{
		WallMs: c.DurationMs, CPUMs: c.CPUMs, PeakMemoryBytes: c.PeakMemoryBytes, Reason: *c.endReason, ProcessesKilled: c.processesKilled,
		isolation: c.isolation,
	}
}

// Isolation is how a call's program was kept apart (SDL: CallIsolation). Its JSON is what is kept in the database.
type Isolation struct {
	Gvisor        string          `json:"gvisor"`
	Platform      string          `json:"platform"`
	Network       string          `json:"network"`
	ImageDigest   string          `json:"imageDigest"`
	MemoryLimit   string          `json:"memoryLimit"`
	Limits        IsolationLimits `json:"limits"`
	Mounts        []Mount         `json:"mounts"`
	ProcessesLeft int             `json:"processesLeft"`
}

// IsolationLimits are the limits that were in force (SDL: CallIsolationLimits).
type IsolationLimits struct {
	MemoryBytes       int64 `json:"memoryBytes"`
	AddressSpaceBytes int64 `json:"addressSpaceBytes"`
	FileSizeBytes     int64 `json:"fileSizeBytes"`
	OpenFiles         int   `json:"openFiles"`
	Processes         int   `json:"processes"`
	WorkspaceBytes    int64 `json:"workspaceBytes"`
	ScriptsBytes      int64 `json:"scriptsBytes"`
	HomeBytes         int64 `json:"homeBytes"`
	TmpBytes          int64 `json:"tmpBytes"`
	TimeoutSeconds    int   `json:"timeoutSeconds"`
}

// Mount is one file system that the program saw (SDL: CallMount).
type Mount struct {
	Path     string `json:"path"`
	Type     string `json:"type"`
	ReadOnly bool   `json:"readOnly"`
}

// Isolation answers how the program was kept apart, nil where that is not known.
func (e *Evidence) Isolation() (*Isolation, error) {
	if e.isolation == nil {
		return nil, nil
	}
	var i Isolation
	if err := json.Unmarshal(e.isolation, &i); err != nil {
		return nil, fmt.Errorf("call: its isolation: %w", err)
	}
	return &i, nil
}

// isolationOf makes of what the runner reports what is kept.
func isolationOf(r *runner.Isolation) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	l := r.Limits
	i := Isolation{
		Gvisor: r.Gvisor, Platform: r.Platform, Network: r.Network, ImageDigest: r.ImageDigest, MemoryLimit: r.MemoryLimit, ProcessesLeft: r.Remaining,
		Limits: IsolationLimits{
			MemoryBytes: l.MemoryBytes, AddressSpaceBytes: l.AddressSpaceBytes, FileSizeBytes: l.FileSizeBytes, OpenFiles: l.OpenFiles,
			Processes: l.Processes, WorkspaceBytes: l.WorkspaceBytes, ScriptsBytes: l.ScriptsBytes, HomeBytes: l.HomeBytes, TmpBytes: l.TmpBytes,
			TimeoutSeconds: int(l.Timeout / time.Second),
		},
		Mounts: make([]Mount, len(r.Mounts)),
	}
	for n, m := range r.Mounts {
		i.Mounts[n] = Mount(m)
	}
	return json.Marshal(i)
}

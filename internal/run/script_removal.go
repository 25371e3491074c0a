package run

import (
	"context"
	"slices"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/script"
)

// Scripts is what runs do when scripts change: a script.Removal, script.WriteThrough and script.SnapshotNames.
type Scripts struct{ host *Host }

// Scripts is what the runs do when scripts change.
func (h *Host) Scripts() *Scripts { return &Scripts{h} }

// InTx takes deleted scripts out of the snapshots of open runs, and has their calls stop (S1-delnow).
func (s *Scripts) InTx(ctx context.Context, tx *database.Tx, organizationID string, scriptIDs []string) error {
	if err := deleteEntries(ctx, tx, organizationID, scriptIDs); err != nil {
		return err
	}
	return s.host.calls.CancelOfScripts(ctx, tx, organizationID, scriptIDs)
}

// AfterCommit stops the calls of deleted scripts, and has their files leave the homes.
func (s *Scripts) AfterCommit(ctx context.Context, _ string, scripts []*script.Script) {
	gone := func(c *current) bool {
		return slices.ContainsFunc(scripts, func(s *script.Script) bool { return s.ID == c.scriptID })
	}
	for _, runID := range append(s.host.ofAgents(scripts...), s.host.ofPackages(scripts)...) {
		s.host.stopIf(runID, StopDeleted, gone)
	}
	s.host.TellAll(ctx)
}

// Saved has a saved script written through to running machines, where its name is absent from their snapshots (S1-wthru).
func (s *Scripts) Saved(ctx context.Context, saved *script.Script, _ *script.Version) {
	s.host.ofAgents(saved)
	s.host.TellAll(ctx)
}

// InOpenSnapshot says whether an open run of the agent has the name in its snapshot.
func (s *Scripts) InOpenSnapshot(ctx context.Context, tx *database.Tx, organizationID, agentID, name string) (bool, error) {
	return inOpenSnapshot(ctx, tx, organizationID, agentID, name)
}

// ofAgents has this server's homes of the scripts' agents brought up to date, and answers their runs.
func (h *Host) ofAgents(scripts ...*script.Script) (runIDs []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for runID, m := range h.machines {
		if m.lease.Token == 0 || m.AgentID == nil {
			continue
		}
		if slices.ContainsFunc(scripts, func(s *script.Script) bool { return s.AgentID == *m.AgentID }) {
			m.dirty = true
			m.signal()
			runIDs = append(runIDs, runID)
		}
	}
	return runIDs
}

// ofPackages are this server's runs where scripts of their organization may run; none where the scripts are agents'.
func (h *Host) ofPackages(scripts []*script.Script) (runIDs []string) {
	isPackage := func(s *script.Script) bool { return s.AgentID == "" }
	if !slices.ContainsFunc(scripts, isPackage) {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for runID, m := range h.machines {
		if slices.ContainsFunc(scripts, func(s *script.Script) bool { return isPackage(s) && s.OrganizationID == m.ref.OrganizationID }) {
			runIDs = append(runIDs, runID)
		}
	}
	return runIDs
}

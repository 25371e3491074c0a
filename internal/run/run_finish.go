package run

import (
	"context"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// finishPatience is how long Finish waits for the computer to go.
const finishPatience = 5 * time.Second

// Finish ends a run: calls that wait or run are cancelled, and the computer goes. It answers when it has gone, or some seconds later. A finished
// run is answered unchanged. It needs TOOLING.
func (s *Service) Finish(ctx context.Context, in FinishInput) (*FinishPayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	var r *Run
	var owner string
	err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		if r, owner, err = lock(ctx, tx, v.Organization.ID, in.Run); err != nil {
			return err
		}
		if r == nil {
			return errNoRun()
		}
		if !r.Status.May(Finished) {
			owner = ""
			return nil
		}
		return s.finish(ctx, tx, r)
	})
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &FinishPayload{UserErrors: refused}, err
	}
	s.host.finished(ctx, r.ID, owner)
	return &FinishPayload{Run: r, UserErrors: refused}, nil
}

// finish writes the end of a run that is locked.
func (s *Service) finish(ctx context.Context, tx *database.Tx, r *Run) error {
	at := s.now()
	if err := markFinished(ctx, tx, r.OrganizationID, r.ID, at); err != nil {
		return err
	}
	r.Status, r.FinishedAt = Finished, &at
	if err := s.host.refuseGenerations(ctx, tx, []string{r.ID}, reasonFinished); err != nil {
		return err
	}
	return s.host.calls.CancelOfRuns(ctx, tx, r.OrganizationID, []string{r.ID})
}

// finished stops what a finished run's owner still does, and waits a while until its computer has gone.
func (h *Host) finished(ctx context.Context, runID, owner string) {
	h.end(runID)
	if owner == "" {
		return
	}
	h.TellOwner(ctx, owner)
	h.AwaitLeft(ctx, runID)
}

// AwaitLeft waits a while until a finished run's computer has gone.
func (h *Host) AwaitLeft(ctx context.Context, runID string) {
	ctx, cancel := context.WithTimeout(ctx, finishPatience)
	defer cancel()
	// Nobody is told of a failure: the run is finished, and its owner looks each second.
	_ = h.Await(ctx, leftTopic(runID), func(ctx context.Context) (bool, error) {
		owner, err := readOwner(ctx, h.db, runID)
		return owner == "", err
	})
}

// end has this server's machine of a finished run stop its call and leave.
func (h *Host) end(runID string) {
	h.stopIf(runID, StopCancelled, func(*current) bool { return true })
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.machines[runID]; m != nil {
		if m.finished = true; m.waiting {
			h.unqueue(m)
		}
		m.signal()
	}
}

// AgentRemoval finishes the runs of agents that are deleted; it is an agent.Removal.
type AgentRemoval struct{ service *Service }

// AgentRemoval is what the runs do when an agent is deleted.
func (s *Service) AgentRemoval() *AgentRemoval { return &AgentRemoval{s} }

// InTx removes the agent's kept home, finishes its open runs and cancels their calls.
func (r *AgentRemoval) InTx(ctx context.Context, tx *database.Tx, organizationID, agentID string) error {
	s := r.service
	kept, err := deleteHome(ctx, tx, organizationID, agentID)
	if err != nil {
		return err
	}
	if kept != "" {
		tx.AfterCommit(func() { s.host.forgetHome(kept) })
	}
	runs, err := finishOfAgent(ctx, tx, organizationID, agentID, s.now())
	if err != nil || len(runs) == 0 {
		return err
	}
	tx.AfterCommit(func() {
		for _, id := range runs {
			s.host.end(id)
		}
	})
	if err := s.host.refuseGenerations(ctx, tx, runs, reasonFinished); err != nil {
		return err
	}
	return s.host.calls.CancelOfRuns(ctx, tx, organizationID, runs)
}

// AfterCommit tells the owners.
func (r *AgentRemoval) AfterCommit(ctx context.Context, _, _ string) { r.service.host.TellAll(ctx) }

package call

import (
	"context"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/output"
	"github.com/scriptorium-dev/scriptorium/internal/run"
)

// cancelPatience is how long Cancel waits for a call that runs to be stopped.
const cancelPatience = 5 * time.Second

// Cancel cancels a call: one that waits ends at once, one that runs is stopped with everything that it started. It answers when the call has
// ended, or some seconds later; one that had ended is answered unchanged. It needs TOOLING.
func (s *Service) Cancel(ctx context.Context, in CancelInput) (*CancelPayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	ended, forget := s.waiter(in.Call)
	defer forget()
	var c *Call
	var owner string
	err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		if id.Is(id.Call, in.Call) { // a database may not take anything else
			if c, owner, err = lockForCancel(ctx, tx, v.Organization.ID, in.Call); err != nil {
				return err
			}
		}
		if c == nil {
			return fault.Plain(fault.NotFound, "input.call", "input.call: there is no such call")
		}
		return s.cancel(ctx, tx, c)
	})
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &CancelPayload{UserErrors: refused}, err
	}
	if c.Status == Running {
		s.host.StopCall(*c.RunID, c.ID, run.StopCancelled)
		if !s.host.Ours(owner) {
			s.host.TellOwner(ctx, owner)
		}
		if c, err = s.afterCancel(ctx, c, owner, ended); err != nil {
			return nil, err
		}
	}
	return &CancelPayload{Call: c, UserErrors: refused}, nil
}

// cancel writes that a call that is locked is to end, or its end.
func (s *Service) cancel(ctx context.Context, tx *database.Tx, c *Call) error {
	this := among{c.OrganizationID, "id", []string{c.ID}}
	switch {
	case c.Status == Running:
		return stopRunning(ctx, tx, this, run.StopCancelled)
	case !c.Status.May(Cancelled):
		return nil
	}
	if _, err := s.endWaiting(ctx, tx, this, Cancelled, refuse(ByRequest)); err != nil {
		return err
	}
	calls, err := byIDs(ctx, tx.SQL(), c.OrganizationID, []string{c.ID})
	for _, now := range calls {
		*c = *now
	}
	return err
}

// afterCancel waits a while for the end of a call that was told to stop, and answers it as it is then.
func (s *Service) afterCancel(ctx context.Context, c *Call, owner string, ended <-chan *Call) (*Call, error) {
	wait, cancel := context.WithTimeout(ctx, cancelPatience)
	defer cancel()
	if s.host.Ours(owner) {
		select {
		case <-ended:
		case <-wait.Done():
		}
	} else {
		_, _ = s.awaitElsewhere(wait, c)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	calls, err := byIDs(ctx, s.db.SQL(), c.OrganizationID, []string{c.ID})
	for _, now := range calls {
		c = now
	}
	return c, err
}

// endWaiting ends calls that wait, and tells everybody after the commit.
func (s *Service) endWaiting(ctx context.Context, tx *database.Tx, a among, status Status, why *refusal) ([]string, error) {
	ids, err := endWaiting(ctx, tx, a, status, why, s.now())
	if err != nil || len(ids) == 0 {
		return ids, err
	}
	tell := context.WithoutCancel(ctx)
	tx.AfterCommit(func() {
		ended := make(map[string]output.Summary, len(ids))
		for _, id := range ids {
			ended[id] = output.Summary{}
		}
		s.tellEnded(tell, ended)
	})
	return ids, nil
}

// CancelOfRuns implements run.Calls.
func (s *Service) CancelOfRuns(ctx context.Context, tx *database.Tx, organizationID string, runIDs []string) error {
	a := among{organizationID, "run_id", runIDs}
	// First those that wait: one that is claimed meanwhile is found among those that run.
	if _, err := s.endWaiting(ctx, tx, a, Cancelled, refuse(ByRequest)); err != nil {
		return err
	}
	return stopRunning(ctx, tx, a, run.StopCancelled)
}

// CancelOfScripts implements run.Calls (S1-delnow).
func (s *Service) CancelOfScripts(ctx context.Context, tx *database.Tx, organizationID string, scriptIDs []string) error {
	a := among{organizationID, "script_id", scriptIDs}
	if _, err := s.endWaiting(ctx, tx, a, Cancelled, refuse(ScriptDeleted)); err != nil {
		return err
	}
	return stopRunning(ctx, tx, a, run.StopDeleted)
}

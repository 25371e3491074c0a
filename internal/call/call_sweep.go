package call

import (
	"context"
	"maps"
	"slices"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/output"
)

// Lose implements run.Calls: the calls of a run whose owner went away are LOST. What can be had of their output is kept: from a spool on
// this server's disk, or from what the owner had copied to the bus's replica.
func (s *Service) Lose(ctx context.Context, _, runID string, clear func(context.Context, *database.Tx) (bool, error)) error {
	open, err := openOf(ctx, s.db.SQL(), runID)
	if err != nil {
		return err
	}
	ends := make([]end, 0, len(open))
	for _, c := range open {
		if c.Status == Running {
			ends = append(ends, s.lostEnd(c, s.rescue(ctx, c.ID)))
		}
	}
	return s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		if cleared, err := clear(ctx, tx); err != nil || !cleared {
			return err
		}
		lost := map[string]output.Summary{}
		for _, e := range ends {
			ok, err := lose(ctx, tx, e)
			if err != nil {
				return err
			}
			if ok {
				lost[e.ID] = e.summary
			}
		}
		waited, err := s.endWaiting(ctx, tx, among{column: "run_id", values: []string{runID}}, Lost, refuse(ComputerLost))
		tell := context.WithoutCancel(ctx)
		tx.AfterCommit(func() {
			for _, id := range slices.AppendSeq(waited, maps.Keys(lost)) {
				s.logLost(tell, id, &runID, errServerGone)
			}
			s.tellEnded(tell, lost)
		})
		return err
	})
}

// rescue makes what can be had of a lost call's output an output that is kept.
func (s *Service) rescue(ctx context.Context, callID string) output.Summary {
	summary, err := s.output.Rescue(ctx, callID)
	if err != nil {
		s.log.WarnContext(ctx, "the output of a lost call cannot be had now", "call", callID, "error", err)
	}
	return summary
}

// lostEnd is the end of a call whose server went away.
func (s *Service) lostEnd(c *Call, summary output.Summary) end {
	o := &outcome{status: Lost, code: ComputerLost, reason: EndLost}
	return o.end(c, summary, s.now())
}

// Recover ends the calls whose output an earlier process of this server left in spools: it was killed, so they are LOST, with what
// they had printed. Call it before the host starts.
func (s *Service) Recover(ctx context.Context) error {
	return s.output.Recover(ctx, func(ctx context.Context, callID string, summary output.Summary) error {
		return s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			c, err := readOne(ctx, tx.SQL(), callID)
			if err != nil || c == nil {
				return err
			}
			ok, err := lose(ctx, tx, s.lostEnd(c, summary))
			if err != nil {
				return err
			}
			if ok {
				tell := context.WithoutCancel(ctx)
				tx.AfterCommit(func() {
					s.logLost(tell, callID, c.RunID, errServerGone)
					s.tellEnded(tell, map[string]output.Summary{callID: summary})
				})
				return nil
			}
			if summary.Blob == "" {
				return nil
			}
			return keepOutput(ctx, tx, callID, summary)
		})
	})
}

// Sweep refuses calls that have waited for too long in runs that no server takes.
func (s *Service) Sweep(ctx context.Context) error {
	ids, err := endLate(ctx, s.db, s.now().Add(-MaxQueueTime), s.now(), refuse(ComputerUnavailable))
	if err != nil {
		return err
	}
	ended := make(map[string]output.Summary, len(ids))
	for _, id := range ids {
		ended[id] = output.Summary{}
	}
	s.tellEnded(ctx, ended)
	return nil
}

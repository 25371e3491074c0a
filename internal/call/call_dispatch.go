package call

import (
	"context"
	"errors"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/output"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// MaxQueueTime is how long a call may wait for a computer. Then it is refused.
const MaxQueueTime = 15 * time.Minute

// Waiting implements run.Calls.
func (s *Service) Waiting(ctx context.Context, m *run.Machine) (bool, error) {
	return waits(ctx, s.db, m.RunID)
}

// Refuse implements run.Calls.
func (s *Service) Refuse(ctx context.Context, m *run.Machine, why error) (string, error) {
	code := ComputerUnavailable
	if errors.Is(why, runner.ErrNotConfigured) {
		code = NotConfigured
	}
	s.log.WarnContext(ctx, "a call is refused: its computer could not be made", "run", m.RunID, "error", why)
	id, err := refuseHead(ctx, s.db, m.RunID, m.Lease(), refuse(code), s.now())
	if err == nil && id != "" {
		s.tellEnded(ctx, map[string]output.Summary{id: {}})
	}
	return id, err
}

// Look implements run.Calls. It also finds the ends of calls that somebody here waits for and that were not told.
func (s *Service) Look(ctx context.Context, server string) (work []run.Work, whole bool, err error) {
	if waited := s.awaited(); len(waited) > 0 {
		calls, err := readAnywhere(ctx, s.db, waited)
		if err != nil {
			return nil, false, err
		}
		s.deliver(calls...)
	}
	work, err = lookFor(ctx, s.db, server)
	return work, len(work) < lookLimit, err
}

// RunNext implements run.Calls: it claims the run's next call, runs it, and writes its end.
func (s *Service) RunNext(_ context.Context, m *run.Machine) (bool, error) {
	var c *claimed
	ctx, done, id, err := m.Claim(func(ctx context.Context) (callID, scriptID string, err error) {
		c, err = claim(ctx, s.db, m.RunID, m.Lease(), s.now(), m.FirstGeneration)
		if err != nil || c == nil {
			return "", "", err
		}
		if c.ScriptID != nil {
			scriptID = *c.ScriptID
		}
		return c.ID, scriptID, nil
	})
	if err != nil || id == "" {
		return false, err
	}
	defer done()
	w, err := s.output.Begin(c.ID)
	if err != nil {
		s.log.ErrorContext(ctx, "the output of a call cannot be kept: it is refused", "call", c.ID, "error", err)
		return true, s.finish(m, c, &outcome{status: Refused, code: ComputerUnavailable}, nil)
	}
	res, err := s.execute(ctx, m, c, w)
	if err != nil && !errors.Is(err, runner.ErrLost) && ctx.Err() == nil {
		s.log.WarnContext(ctx, "a call did not come to its end", "call", c.ID, "error", err)
	}
	return true, s.finish(m, c, conclude(res, err, context.Cause(ctx), c.TimeoutSeconds), w)
}

// execute runs a claimed call on its run's computer.
func (s *Service) execute(ctx context.Context, m *run.Machine, c *claimed, w *output.Writer) (runner.Result, error) {
	changes, made, err := m.ScriptChanges(ctx, c.script, *c.VersionID)
	if err != nil {
		return runner.Result{}, errors.Join(runner.ErrUnavailable, err)
	}
	p := program{
		callID: c.ID, runID: m.RunID, script: c.script, home: m.Dir(), input: c.input, environment: m.Environment,
		timeout: time.Duration(c.TimeoutSeconds) * time.Second, fresh: c.fresh,
	}
	process := p.process()
	process.Files = append(append(m.Litter(process.Files[0].Path), changes...), process.Files...)
	res, err := m.Call(ctx, process, runner.SinkFunc(func(stream runner.Stream, b []byte) error {
		return w.Write(output.Stream(stream), b)
	}))
	if err == nil {
		made()
	}
	return res, err
}

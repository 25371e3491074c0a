package call

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/output"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/secret"
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
		if m.Direct {
			m.Finished()
		}
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
	o := conclude(res, err, context.Cause(ctx), c.TimeoutSeconds)
	if o.status != Lost && err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "a call did not come to its end", "call", c.ID, "run", m.RunID, "error", err)
	}
	o.made = s.collect(ctx, m, c, o)
	end := s.finish(m, c, o, w)
	if o.status == Lost && end == nil {
		s.logLost(ctx, c.ID, &m.RunID, cmp.Or(err, context.Cause(ctx)))
	}
	return true, end
}

// logLost tells the log of a call that is LOST, which is no fault of those who called.
func (s *Service) logLost(ctx context.Context, callID string, runID *string, why error) {
	of := ""
	if runID != nil {
		of = *runID
	}
	s.log.WarnContext(ctx, "a call is lost", "call", callID, "run", of, "error", why)
}

// errServerGone is why the calls of a server that was killed, or lost its lease, are LOST.
var errServerGone = errors.New("the server that ran it went away")

// execute runs a claimed call on its run's computer. What it prints is masked before anything else sees it (S1-secret).
func (s *Service) execute(ctx context.Context, m *run.Machine, c *claimed, w *output.Writer) (runner.Result, error) {
	p, changes, made, err := s.bring(ctx, m, c)
	if err != nil {
		return runner.Result{}, err
	}
	secrets, err := s.secretsOf(ctx, c)
	if err != nil {
		return runner.Result{}, errors.Join(runner.ErrUnavailable, err)
	}
	filter := secret.NewFilter(secret.NewMask(slices.Collect(maps.Values(secrets))), s.config.MaskWait, w.Write)
	defer filter.Close() //nolint:errcheck // a writer that takes no more has said so
	p.secrets = secrets
	process := p.process()
	process.Files = append(append(m.Litter(p.litter()), changes...), process.Files...)
	res, err := m.Call(ctx, process, runner.SinkFunc(func(stream runner.Stream, b []byte) error {
		return filter.Write(output.Stream(stream), b)
	}))
	if err == nil {
		made()
	}
	return res, err
}

// bring has what the call runs on the computer: a package at once (S2-verify), an agent's script with the changes of files that go along with the call;
// made notes that they were made.
func (s *Service) bring(ctx context.Context, m *run.Machine, c *claimed) (p program, changes []runner.FileChange, made func(), err error) {
	p = program{
		callID: c.ID, runID: m.RunID, dir: m.Dir(), home: m.Dir(), input: c.input, environment: m.Environment,
		timeout: time.Duration(c.TimeoutSeconds) * time.Second, fresh: c.fresh,
	}
	if c.entrypoint != nil {
		p.argv, p.packaged, p.home, made = c.entrypoint, true, packageHome(c.ID), func() {}
		p.dir, err = m.Package(ctx, run.Package{Name: c.script, Number: c.number, VersionID: *c.VersionID})
		return p, nil, made, err
	}
	p.argv = []string{"python3", script.Path(c.script)}
	if changes, made, err = m.ScriptChanges(ctx, c.script, *c.VersionID); err != nil {
		err = errors.Join(runner.ErrUnavailable, err)
	}
	return p, changes, made, err
}

// secretsOf are the values of the call's agent, as they are when it starts. One that cannot be opened is for whoever operates the server: no call runs
// without its secrets.
func (s *Service) secretsOf(ctx context.Context, c *claimed) (map[string]string, error) {
	if !c.secrets || c.AgentID == nil {
		return nil, nil
	}
	values, err := s.secrets.Values(ctx, c.OrganizationID, *c.AgentID)
	if err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "the secrets of an agent cannot be had: its call is refused", "call", c.ID, "agent", *c.AgentID, "error", err)
	}
	return values, err
}

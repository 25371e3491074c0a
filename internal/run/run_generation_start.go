package run

import (
	"context"
	"errors"
	"strings"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// GenerationStart starts the next generation of a run: its owner, whichever server that is, waits for a call that runs, makes the
// computer where there is none, and brings the scripts into its home. It needs TOOLING and COMPUTER.
func (s *Service) GenerationStart(ctx context.Context, in GenerationStartInput) (*GenerationStartPayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err == nil {
		err = v.Require(key.Computer)
	}
	if err != nil {
		return nil, err
	}
	g, err := s.startGeneration(ctx, v.Organization.ID, in.Run)
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &GenerationStartPayload{Materialised: []string{}, Removed: []string{}, UserErrors: refused}, err
	}
	found, err := byIDs(ctx, s.db.Read(), v.Organization.ID, []string{g.RunID})
	if err != nil {
		return nil, err
	}
	return &GenerationStartPayload{Run: found[g.RunID], Materialised: g.Materialised, Removed: g.Removed, UserErrors: refused}, nil
}

// startGeneration asks the owner for a generation and waits until it was started.
func (s *Service) startGeneration(ctx context.Context, organizationID, runID string) (*Generation, error) {
	g := &Generation{ID: id.New("gen"), OrganizationID: organizationID, RunID: runID, Status: generationQueued, CreatedAt: s.now()}
	ref, err := s.canStart(ctx, g)
	if err != nil {
		return nil, err
	}
	defer s.host.Forget(g.ID)
	var owner string
	err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		r, holder, err := lock(ctx, tx, organizationID, runID)
		switch owner = holder; {
		case err != nil:
			return err
		case r == nil:
			return errNoRun()
		case r.Status == Finished:
			return errFinished()
		}
		return insertGeneration(ctx, tx, g)
	})
	if err != nil {
		return nil, err
	}
	if s.host.Ours(owner) {
		s.host.wake(ref, g.ID, g.CreatedAt, func(m *Machine) { m.starting = true })
	} else {
		s.host.TellOwner(ctx, owner)
	}
	return s.awaitGeneration(ctx, g)
}

// canStart refuses what cannot be: before the transaction, since the check of the computers may still be going on. It answers whose the run is.
func (s *Service) canStart(ctx context.Context, g *Generation) (Ref, error) {
	found, err := s.ByIDs(ctx, g.OrganizationID, []string{g.RunID})
	if err != nil {
		return Ref{}, err
	}
	r := found[g.RunID]
	switch {
	case r == nil:
		return Ref{}, errNoRun()
	case r.Status == Finished:
		return Ref{}, errFinished()
	}
	ref := refOf(r.OrganizationID, r.AgentID, r.ID)
	owner, err := readOwner(ctx, s.db, g.RunID)
	if err != nil || !s.host.Ours(owner) {
		return ref, err
	}
	return ref, s.host.can(ctx, ref, g.ID)
}

// awaitGeneration waits until a generation was started or refused.
func (s *Service) awaitGeneration(ctx context.Context, g *Generation) (*Generation, error) {
	err := s.host.Await(ctx, generationTopic(g.ID), func(ctx context.Context) (bool, error) {
		now, err := readGeneration(ctx, s.db.Read(), g.OrganizationID, g.ID)
		if err == nil && now == nil {
			err = errors.New("run: a generation's row went away")
		}
		if err == nil {
			g = now
		}
		return g.Status != generationQueued, err
	})
	if err != nil {
		return nil, err
	}
	return g, g.refusal()
}

// can says whether this server can have a computer for the run, or have it wait for one: then the generation is admitted.
func (h *Host) can(ctx context.Context, ref Ref, id string) error {
	_, err := h.Report(ctx)
	switch {
	case errors.Is(err, runner.ErrNotConfigured):
		return errNotConfigured()
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil || !h.Admit(ctx, ref, id):
		return errUnavailable().Because(err)
	}
	return nil
}

func errUnavailable() *fault.Problem {
	return fault.NewProblem(fault.Unavailable, "no computer could be made for this run")
}

// refusal is the error of a generation that was refused, nil of one that was started.
func (g *Generation) refusal() error {
	switch {
	case g.Status == generationStarted:
		return nil
	case g.Reason == reasonFinished:
		return errFinished()
	case g.Reason == reasonNotConfigured:
		return errNotConfigured()
	}
	return errUnavailable()
}

// startGenerations starts the generations that were asked for: the home is materialised once, each counts up.
func (m *Machine) startGenerations(ctx context.Context) error {
	waiting, err := queuedGenerations(ctx, m.host.db, m.RunID)
	if err != nil || len(waiting) == 0 {
		return err
	}
	outcome := Generation{Status: generationStarted, Materialised: []string{}, Removed: []string{}}
	switch err := m.materialise(ctx, &outcome); {
	case err != nil && (ctx.Err() != nil || !isRunners(err)):
		return err
	case errors.Is(err, runner.ErrNotConfigured):
		outcome.Status, outcome.Reason = generationRefused, reasonNotConfigured
	case err != nil:
		m.host.log.Warn("a generation could not be started", "run", m.RunID, "error", err)
		outcome.Status, outcome.Reason = generationRefused, reasonUnavailable
	}
	err = m.host.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		for _, id := range waiting {
			g := outcome
			g.ID = id
			if g.Status == generationStarted {
				if g.Number, err = countUp(ctx, tx, m.RunID, m.lease); err != nil {
					return err
				}
				m.generation = g.Number
			}
			if err := endGeneration(ctx, tx, &g, m.host.now()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range waiting {
		m.host.tell(ctx, generationTopic(id))
	}
	return nil
}

// materialise writes every script that the home should hold, and removes the managed files that it should not.
func (m *Machine) materialise(ctx context.Context, g *Generation) error {
	if m.computer == nil {
		if err := m.makeComputer(ctx); err != nil {
			return err
		}
	}
	changes, err := m.planHome(ctx, true)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return nil // a run without an agent has no scripts
	}
	home := m.Dir() + "/"
	for _, b := range batches(changes, filesAtOnce) {
		report, err := m.computer.Files(ctx, b)
		if err != nil {
			m.drop()
			return err
		}
		for _, path := range report.Removed {
			g.Removed = append(g.Removed, strings.TrimPrefix(path, home))
		}
	}
	for _, c := range changes {
		if c.Op == runner.FileWrite {
			g.Materialised = append(g.Materialised, strings.TrimPrefix(c.Path, home))
		}
	}
	m.todo = nil
	return nil
}

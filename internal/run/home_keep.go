package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/runner"
)

const (
	// keepTime bounds how long a home is packed or unpacked, from when it is its turn: as many are at once as there are processors, since that is work.
	keepTime = 30 * time.Second
	// turnTime bounds how long one waits for its turn.
	turnTime = 2 * time.Minute
)

// turn waits for a home's turn. The context that it answers is for what is done then; done ends the turn.
func (h *Host) turn(ctx context.Context) (_ context.Context, done func(), err error) {
	late := time.NewTimer(turnTime)
	defer late.Stop()
	select {
	case h.homes <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-h.ctx.Done():
		return nil, nil, h.ctx.Err()
	case <-late.C:
		return nil, nil, fmt.Errorf("%w: other homes were not done within %s", runner.ErrUnavailable, turnTime)
	}
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	stop := context.AfterFunc(h.ctx, cancel)
	return ctx, func() { stop(); cancel(); <-h.homes }, nil
}

// KeptHome is what an agent's last computer left of its home (SDL: AgentHome).
type KeptHome struct {
	OrganizationID string
	AgentID        string
	RunID          string
	// Entries counts files, folders and links, Bytes those of the files, LeftOut what passed the bounds or cannot be kept.
	Entries int
	Bytes   int64
	LeftOut int
	KeptAt  time.Time

	blob string
}

// blobOf is the name of the archive that a lease leaves: each is another's, so what is read is never written.
func (m *Machine) blobOf() string { return fmt.Sprintf("home/%s-%d", m.RunID, m.lease.Token) }

// keepHome keeps the home of an agent that wants it, before its computer goes. What fails is logged: the home of the time before stays.
func (m *Machine) keepHome(ctx context.Context) {
	if m.computer == nil || m.AgentID == nil || m.homeLost || closed(m.computer.Done()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, turnTime+keepTime+patience)
	defer cancel()
	if err := m.tryKeepHome(ctx); err != nil {
		m.host.log.Error("an agent's home could not be kept", "run", m.RunID, "agent", *m.AgentID, "error", err)
	}
}

func (m *Machine) tryKeepHome(ctx context.Context) error {
	keeps, err := readKeepsHome(ctx, m.host.db, m.OrganizationID, *m.AgentID)
	if err != nil || !keeps {
		return err
	}
	ctx, done, err := m.host.turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	name, store := m.blobOf(), m.host.config.Blobs
	counts, err := m.storeHome(ctx, store, name)
	if err != nil {
		return errors.Join(err, store.DeleteNamed(context.WithoutCancel(ctx), name))
	}
	before, written, err := writeHome(ctx, m.host.db, KeptHome{
		OrganizationID: m.OrganizationID, AgentID: *m.AgentID, RunID: m.RunID, Entries: counts.files, Bytes: counts.bytes, LeftOut: counts.leftOut,
		KeptAt: m.host.now(), blob: name,
	}, m.lease)
	switch {
	case err != nil || !written: // the agent has gone meanwhile, or the run is another's
		return errors.Join(err, store.DeleteNamed(ctx, name))
	case before != "":
		return store.DeleteNamed(ctx, before)
	}
	return nil
}

// storeHome packs the home into a blob.
func (m *Machine) storeHome(ctx context.Context, store *blob.Store, name string) (homeCounts, error) {
	r, w := io.Pipe()
	type packed struct {
		counts homeCounts
		err    error
	}
	done := make(chan packed, 1)
	go func() { // ends when the blob's reader does
		counts, err := packHome(ctx, m.computer, m.Dir(), w)
		w.CloseWithError(err) // nil is the end
		done <- packed{counts, err}
	}()
	_, err := store.PutNamed(ctx, name, r, maxArchiveBytes)
	r.CloseWithError(errors.New("run: the archive is not taken any more"))
	p := <-done
	return p.counts, errors.Join(err, p.err)
}

// restoreHome brings the archive of that name back to a new computer; an empty name is none. One that cannot be read is logged, and the run
// begins with what could be.
func (m *Machine) restoreHome(ctx context.Context, name string) error {
	m.homeLost = false
	if name == "" {
		return nil
	}
	ctx, done, err := m.host.turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	err = m.unpackFrom(ctx, name)
	if errors.Is(err, blob.ErrNotFound) { // another run has just left a newer one, perhaps
		if name, err = readHomeBlob(ctx, m.host.db, m.OrganizationID, *m.AgentID); err != nil {
			return err
		}
		err = m.unpackFrom(ctx, name)
	}
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrBadKey) || errors.Is(err, errBadArchive) {
		m.host.log.Error("an agent's home could not be brought back: it is not replaced at the run's end", "run", m.RunID, "agent", *m.AgentID, "error", err)
		m.homeLost = true
		return nil
	}
	return err
}

func (m *Machine) unpackFrom(ctx context.Context, name string) error {
	r, err := m.host.config.Blobs.OpenNamed(ctx, name, 0, -1)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // it was read
	return unpackHome(m.Dir(), r, func(changes []runner.FileChange) error {
		_, err := m.computer.Files(ctx, changes)
		return err
	})
}

// HomesOfAgents answers the kept homes by agent.
func (s *Service) HomesOfAgents(ctx context.Context, organizationID string, agentIDs []string) (map[string]*KeptHome, error) {
	return homesOfAgents(ctx, s.db, organizationID, agentIDs)
}

// forgetHome removes the archive of an agent that was deleted.
func (h *Host) forgetHome(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.config.Blobs.DeleteNamed(ctx, name); err != nil {
		h.log.Warn("the home of an agent that was deleted stays among the blobs", "blob", name, "error", err)
	}
}

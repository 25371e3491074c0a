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

// keepHome keeps the home of an agent that wants it, before its computer goes. What fails is logged: the home of the time before stays, which the
// agent's home tells (AgentHome.run). It ends with the host, too.
func (m *Machine) keepHome(ctx context.Context) {
	if m.computer == nil || m.AgentID == nil || m.homeLost || closed(m.computer.Done()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, packWait+homeTime+patience)
	defer cancel()
	defer context.AfterFunc(m.host.ctx, cancel)()
	if err := m.tryKeepHome(ctx); err != nil {
		m.host.log.Error("an agent's home could not be kept", "run", m.RunID, "agent", *m.AgentID, "error", err)
	}
}

func (m *Machine) tryKeepHome(ctx context.Context) error {
	keeps, err := readKeepsHome(ctx, m.host.db, m.OrganizationID, *m.AgentID)
	if err != nil || !keeps {
		return err
	}
	name := m.blobOf()
	counts, err := m.packInto(ctx, name)
	if err != nil {
		return errors.Join(err, m.host.forgetBlob(name))
	}
	before, written, err := writeHome(ctx, m.host.db, KeptHome{
		OrganizationID: m.OrganizationID, AgentID: *m.AgentID, RunID: m.RunID, Entries: counts.files, Bytes: counts.bytes, LeftOut: counts.leftOut,
		KeptAt: m.host.now(), blob: name,
	}, m.lease)
	switch {
	case err != nil:
		return errors.Join(err, m.host.forgetBlob(name))
	case !written:
		return errors.Join(m.unwritten(ctx), m.host.forgetBlob(name))
	case before != "":
		return m.host.forgetBlob(before)
	}
	return nil
}

// unwritten says why the home was not written: nil where it is not wanted any more, or its agent has gone.
func (m *Machine) unwritten(ctx context.Context) error {
	keeps, err := readKeepsHome(ctx, m.host.db, m.OrganizationID, *m.AgentID)
	if err == nil && keeps {
		err = ErrFenced
	}
	return err
}

// packInto packs the home into a blob, in its turn.
func (m *Machine) packInto(ctx context.Context, name string) (homeCounts, error) {
	turn, err := m.host.packing.take(ctx, packWait)
	if err != nil {
		return homeCounts{}, err
	}
	defer turn.done()
	r, w := io.Pipe()
	type packed struct {
		counts homeCounts
		err    error
	}
	done := make(chan packed, 1)
	go func() { // ends when the blob's reader does
		counts, err := packHome(turn.ctx, m.computer, m.Dir(), turn.writer(w))
		w.CloseWithError(err) // nil is the end
		done <- packed{counts, err}
	}()
	_, err = m.host.config.Blobs.PutNamed(turn.ctx, name, r, maxArchiveBytes)
	r.CloseWithError(errors.New("run: the archive is not taken any more"))
	p := <-done
	return p.counts, turn.explain(errors.Join(err, p.err))
}

// restoreHome brings the archive of that name back to a new computer, in its turn; an empty name is none. One that cannot be read is logged, and the run
// begins with what could be.
func (m *Machine) restoreHome(ctx context.Context, name string) error {
	m.homeLost = false
	if name == "" {
		return nil
	}
	turn, err := m.host.unpacking.take(ctx, unpackWait)
	if err != nil {
		return err
	}
	defer turn.done()
	err = m.unpackFrom(turn, name)
	if errors.Is(err, blob.ErrNotFound) { // another run has just left a newer one, perhaps
		if name, err = readHomeBlob(ctx, m.host.db, m.OrganizationID, *m.AgentID); err != nil {
			return err
		}
		err = m.unpackFrom(turn, name)
	}
	if turn.ctx.Err() == nil && (errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrBadKey) || errors.Is(err, errBadArchive)) {
		m.host.log.Error("an agent's home could not be brought back: it is not replaced at the run's end", "run", m.RunID, "agent", *m.AgentID, "error", err)
		m.homeLost = true
		return nil
	}
	return turn.explain(err)
}

func (m *Machine) unpackFrom(turn *homeTurn, name string) error {
	r, err := m.host.config.Blobs.OpenNamed(turn.ctx, name, 0, -1)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // it was read
	return unpackHome(m.Dir(), turn.reader(r), func(changes []runner.FileChange) error {
		_, err := m.computer.Files(turn.ctx, changes)
		turn.moved()
		return err
	})
}

// HomesOfAgents answers the kept homes by agent.
func (s *Service) HomesOfAgents(ctx context.Context, organizationID string, agentIDs []string) (map[string]*KeptHome, error) {
	return homesOfAgents(ctx, s.db, organizationID, agentIDs)
}

// forgetHome removes the archive of an agent that was deleted.
func (h *Host) forgetHome(name string) {
	if err := h.forgetBlob(name); err != nil {
		h.log.Warn("the home of an agent that was deleted stays among the blobs", "blob", name, "error", err)
	}
}

// forgetBlob removes an archive, whatever has ended meanwhile.
func (h *Host) forgetBlob(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return h.config.Blobs.DeleteNamed(ctx, name)
}

package run

import (
	"context"
	"slices"
	"time"
)

// A server has places for so many computers. A run that has none waits in the server's queue until one becomes free, or until a run that is
// idle, or has had its turn, gives its own back. What is here belongs to Host.mu.

// queueShare is how many organizations can each fill their part of the queue before others find no room in it.
const queueShare = 10

// reservation is a call, or a generation, that was admitted and is being written.
type reservation struct {
	ref   Ref
	place bool // its run has a place, or there is one for it
}

// Admit says whether a call (or generation) of the run can be taken on by this server: its run has a computer's place here, or there is a
// free one, or there is room in the queue. It is counted from then on; Wake, or Forget where it came to nothing, ends that.
func (h *Host) Admit(ctx context.Context, ref Ref, id string) bool {
	if h.admit(ref, id) {
		return true
	}
	// What waited may have been cancelled meanwhile, here or at another server.
	return h.refresh(ctx) == nil && h.admit(ref, id)
}

func (h *Host) admit(ref Ref, id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopping {
		return false
	}
	m := h.machines[ref.RunID]
	place := m != nil && !m.waiting || m == nil && (h.promised(ref.RunID) || h.free() > 0)
	if !place {
		if own, all := h.queued(ref.OrganizationID); own >= h.config.MaxQueued || all >= h.config.MaxQueued*queueShare {
			return false
		}
	}
	h.reserved[id] = reservation{ref, place}
	return true
}

// Forget ends what Admit began where nothing came of it.
func (h *Host) Forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.reserved[id]; ok {
		delete(h.reserved, id)
		h.serve() // a place may have been kept for it
	}
}

// promised says whether a place is kept for a run that has no machine yet.
func (h *Host) promised(runID string) bool {
	for _, r := range h.reserved {
		if r.place && r.ref.RunID == runID {
			return true
		}
	}
	return false
}

// free is how many places nobody has and none is kept for.
func (h *Host) free() int {
	kept := map[string]bool{}
	for _, r := range h.reserved {
		if r.place && h.machines[r.ref.RunID] == nil {
			kept[r.ref.RunID] = true
		}
	}
	return h.config.MaxComputers - (len(h.machines) - len(h.waiting)) - len(kept)
}

// queued is how many calls and generations wait for computers: the organization's, and all.
func (h *Host) queued(organizationID string) (own, all int) {
	count := func(r Ref, n int) {
		all += n
		if r.OrganizationID == organizationID {
			own += n
		}
	}
	for _, m := range h.waiting {
		n := len(m.waits)
		if m.starting {
			n++
		}
		count(m.ref, n)
	}
	for _, r := range h.reserved {
		if !r.place {
			count(r.ref, 1)
		}
	}
	return own, all
}

// enter makes a run's machine: at work where there is a place, else in the queue, where it waits since then.
func (h *Host) enter(ref Ref, kept bool, since time.Time) *Machine {
	m := h.newMachine(ref)
	h.machines[ref.RunID] = m
	if kept && len(h.machines)-len(h.waiting) <= h.config.MaxComputers {
		h.place(m)
		return m
	}
	h.enqueue(m, since)
	h.serve()
	h.evict()
	return m
}

// enqueue has a machine wait, behind those that do so for longer, wherever their calls were accepted: all servers have the same order.
func (h *Host) enqueue(m *Machine, since time.Time) {
	m.waiting, m.since = true, since
	i := len(h.waiting)
	for i > 0 && h.waiting[i-1].since.After(since) {
		i--
	}
	h.waiting = slices.Insert(h.waiting, i, m)
}

// place gives a machine its place and lets it work.
func (h *Host) place(m *Machine) {
	m.waiting, m.since = false, time.Now()
	h.turns.took(m.ref)
	h.work.Go(m.work)
}

// serve gives free places to runs that wait, in their turn.
func (h *Host) serve() {
	for len(h.waiting) > 0 && !h.stopping && h.free() > 0 {
		i := h.turns.order(refsOf(h.waiting), 1)[0]
		m := h.waiting[i]
		h.waiting = slices.Delete(h.waiting, i, i+1)
		h.place(m)
	}
}

func refsOf(machines []*Machine) []Ref {
	refs := make([]Ref, len(machines))
	for i, m := range machines {
		refs[i] = m.ref
	}
	return refs
}

// unqueue takes a run that waits out of the queue.
func (h *Host) unqueue(m *Machine) {
	h.waiting = slices.DeleteFunc(h.waiting, func(w *Machine) bool { return w == m })
	delete(h.machines, m.RunID)
	m.cancel(nil)
}

// wanted says whether a run that waits needs a place beyond those that are being given back now.
func (h *Host) wanted() bool {
	going := 0
	for _, m := range h.machines {
		if !m.waiting && (m.leaving || m.evicted) {
			going++
		}
	}
	return len(h.waiting) > going
}

// evict asks the machine that has been idle for longest to give its place up, where one that waits needs it.
func (h *Host) evict() {
	if !h.wanted() {
		return
	}
	var oldest *Machine
	for _, m := range h.machines {
		if m.idle && !m.evicted && (oldest == nil || m.idleFrom.Before(oldest.idleFrom)) {
			oldest = m
		}
	}
	if oldest != nil {
		oldest.evicted = true
		oldest.signal()
	}
}

// yields says whether a machine that has more to do gives its computer up all the same: others have waited for a whole turn, it has had
// one of its own, and the next turn is not its own again.
func (m *Machine) yields() bool {
	h := m.host
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if !m.worked || len(m.waits) == 0 || !h.wanted() || now.Sub(m.since) < h.config.Turn || now.Sub(h.waiting[0].since) < h.config.Turn {
		return false
	}
	if h.turns.order(append(refsOf(h.waiting), m.ref), 1)[0] == len(h.waiting) {
		h.turns.took(m.ref)
		m.since, m.worked = now, false
		return false
	}
	m.leaving = true
	return true
}

// left takes a machine that has ended out, and gives its place to the next one. What came while it was leaving waits anew.
func (h *Host) left(m *Machine) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.machines, m.RunID)
	if m.released && (len(m.waits) > 0 || m.starting) && !m.finished && !h.stopping {
		again := h.newMachine(m.ref)
		again.waits, again.starting, again.woken = m.waits, m.starting, m.woken
		h.machines[m.RunID] = again
		h.enqueue(again, m.until) // when it was given back, as the run's row has it
	}
	h.serve()
	h.evict()
}

// Positions answers the places of the runs that wait for a computer here, by run: 1 is the next one to get one. Those of a run that gives its
// computer back with more to do come last. It looks at the database first, so that what was cancelled or taken by another server is not
// counted, and what other servers accepted is.
func (h *Host) Positions(ctx context.Context) (map[string]int, error) {
	if err := h.refresh(ctx); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	line := slices.Clone(h.waiting)
	for _, m := range h.machines {
		if !m.waiting && m.leaving && len(m.waits) > 0 {
			line = append(line, m)
		}
	}
	refs := refsOf(line)
	positions := make(map[string]int, len(line))
	for n, i := range h.turns.order(refs, len(refs)) {
		positions[refs[i].RunID] = n + 1
	}
	return positions, nil
}

// Idle says whether a run has its computer here and nothing to do.
func (h *Host) Idle(runID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.machines[runID]
	return m != nil && m.idle && !m.leaving
}

package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/event"
)

// Lease is a server's right to a run: what it writes about it counts only while the run's row has both.
type Lease struct {
	Server string
	Token  int64
}

// sweepAtOnce is how many stale leases one sweep reads at a time.
const sweepAtOnce = 100

// lookLoop looks at the database each second, and when told to.
func (h *Host) lookLoop(watches []*event.Watch) {
	defer func() {
		for _, w := range watches {
			w.Close()
		}
	}()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	failing := false
	for {
		mine, all := watches[0].Signal(), watches[1].Signal()
		err := h.look()
		if err != nil && !failing && h.ctx.Err() == nil {
			h.log.Warn("the database cannot be asked for work", "error", err)
		}
		failing = err != nil
		select {
		case <-h.ctx.Done():
			return
		case <-tick.C:
		case <-h.looks:
		case <-mine:
		case <-all:
		}
	}
}

// look brings what the database says to the machines: three statements, however many runs there are.
func (h *Host) look() error {
	ctx, cancel := context.WithTimeout(h.ctx, patience)
	defer cancel()
	if err := h.lookAtOwn(ctx); err != nil {
		return err
	}
	return h.lookForWork(ctx)
}

// refresh looks for work unless somebody else did meanwhile, so that the queue is as the database has it now.
func (h *Host) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	seen := h.looked.Load()
	h.looking.Lock()
	if h.looked.Load() > seen { // one that began after this was asked for
		h.looking.Unlock()
		return nil
	}
	h.looking.Unlock()
	return h.lookForWork(ctx)
}

// foundWork is what a look shows of a run that has work for this server.
type foundWork struct {
	ref      Ref
	since    time.Time // the first of it waits for a computer
	waits    []string
	starting bool
}

// lookForWork brings what waits, here and at nobody's, to the machines, and stops what is to stop.
func (h *Host) lookForWork(ctx context.Context) error {
	h.looking.Lock()
	defer h.looking.Unlock()
	h.looked.Add(1)
	h.mu.Lock()
	began := h.ticks
	h.mu.Unlock()
	starting, err := unownedGenerations(ctx, h.db)
	if err != nil {
		return err
	}
	work, whole, err := h.calls.Look(ctx, h.config.Server)
	if err != nil {
		return err
	}
	found := map[string]*foundWork{}
	var runs []*foundWork // oldest first
	of := func(r Ref, since time.Time) *foundWork {
		if found[r.RunID] == nil {
			found[r.RunID] = &foundWork{ref: r, since: since}
			runs = append(runs, found[r.RunID])
		}
		return found[r.RunID]
	}
	for _, g := range starting {
		of(g.Ref, g.Since).starting = true
	}
	for _, w := range work {
		if w.Stop == "" {
			f := of(w.Ref, w.Since)
			f.waits = append(f.waits, w.CallID)
			continue
		}
		h.StopCall(w.RunID, w.CallID, w.Stop)
	}
	h.apply(runs, found, began, whole)
	return nil
}

// apply brings a look's result to the machines. Those that wait are made to know exactly what waits, where nothing was told of them since the
// look began; with whole, those that it did not find have nothing to wait for any more.
func (h *Host) apply(runs []*foundWork, found map[string]*foundWork, began uint64, whole bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopping {
		return
	}
	for _, m := range slices.Clone(h.waiting) {
		if whole && m.woken <= began && found[m.RunID] == nil {
			h.unqueue(m)
		}
	}
	for _, f := range runs {
		m := h.machines[f.ref.RunID]
		if m == nil {
			m = h.enter(f.ref, false, f.since) // accepted by another server, or by an earlier start: the queue's bound was its own affair
		} else if m.waiting && m.woken <= began {
			m.starting = false
			clear(m.waits)
		}
		m.starting = m.starting || f.starting
		for _, id := range f.waits {
			m.waits[id] = true
		}
		m.signal()
	}
	h.evict()
}

// lookAtOwn compares the machines with their runs' rows.
func (h *Host) lookAtOwn(ctx context.Context) error {
	leases := h.leases()
	if len(leases) == 0 {
		return nil
	}
	rows, err := lookAt(ctx, h.db, h.config.Server)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for runID, token := range leases {
		m, row := h.machines[runID], rows[runID]
		if m == nil || m.lease.Token != token || m.leaving {
			continue // it came or went meanwhile, or goes
		}
		switch {
		case row.token != token:
			m.end(StopLost)
		case row.status == Finished:
			m.finished = true
			m.signal()
		default:
			m.starting = m.starting || row.starting
			m.dirty = m.dirty || row.changes > m.synced
			if m.starting || m.dirty {
				m.signal()
			}
		}
	}
	return nil
}

// leases are the tokens of the runs that are owned now, those that are being left among them: until a run is given back, its home is still to be kept.
func (h *Host) leases() map[string]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	tokens := make(map[string]int64, len(h.machines))
	for runID, m := range h.machines {
		if m.lease.Token != 0 && !m.lost && !m.released {
			tokens[runID] = m.lease.Token
		}
	}
	return tokens
}

// leaseLoop renews this server's leases and sweeps those of servers that went away.
func (h *Host) leaseLoop() {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-tick.C:
		}
		if err := h.renew(); err != nil && h.ctx.Err() == nil {
			h.log.Warn("leases of runs cannot be renewed", "error", err)
		}
		ctx, cancel := context.WithTimeout(h.ctx, patience)
		if err := errors.Join(h.sweep(ctx), h.calls.Sweep(ctx)); err != nil && h.ctx.Err() == nil {
			h.log.Warn("leases that ran out cannot be swept", "error", err)
		}
		cancel()
	}
}

// renew prolongs all leases in one statement. A run that is not ours any more ends here, and so does one whose lease ran out while the database
// could not be reached.
func (h *Host) renew() error {
	leases := h.leases()
	if len(leases) == 0 {
		return nil
	}
	runIDs := make([]string, 0, len(leases))
	for runID := range leases {
		runIDs = append(runIDs, runID)
	}
	ctx, cancel := context.WithTimeout(h.ctx, renewEvery)
	defer cancel()
	until := h.now().Add(leaseTime)
	tokens, err := renewLeases(ctx, h.db, h.config.Server, runIDs, until)
	h.mu.Lock()
	defer h.mu.Unlock()
	for runID, token := range leases {
		m := h.machines[runID]
		switch {
		case m == nil || m.lease.Token != token || m.released:
		case err == nil && tokens[runID] == token:
			m.until = until
		case m.leaving:
		case err == nil || h.now().After(m.until):
			m.end(StopLost)
		}
	}
	return err
}

// sweepLeft ends what earlier processes left: those of this server's name, and on SQLite, which one server has at a time, all.
func (h *Host) sweepLeft(ctx context.Context) error {
	for {
		left, err := staleLeases(ctx, h.db, time.Time{}, h.config.Server, h.db.Dialect() == database.SQLite, sweepAtOnce)
		if err != nil {
			return err
		}
		if err := h.lose(ctx, left, time.Time{}); err != nil || len(left) < sweepAtOnce {
			return err
		}
	}
}

// sweep ends what owners left whose leases ran out.
func (h *Host) sweep(ctx context.Context) error {
	for {
		now := h.now()
		stale, err := staleLeases(ctx, h.db, now, "", false, sweepAtOnce)
		if err != nil {
			return err
		}
		if err := h.lose(ctx, stale, now); err != nil || len(stale) < sweepAtOnce {
			return err
		}
	}
}

// lose ends the open calls and generations of runs whose owners went away, each run in a transaction of its own.
func (h *Host) lose(ctx context.Context, stale []owned, now time.Time) error {
	for _, o := range stale {
		err := h.calls.Lose(ctx, o.organizationID, o.runID, func(ctx context.Context, tx *database.Tx) (bool, error) {
			cleared, err := clearLease(ctx, tx, o, now)
			if err != nil || !cleared {
				return false, err
			}
			return true, h.refuseGenerations(ctx, tx, []string{o.runID}, reasonLost)
		})
		if err != nil {
			return err
		}
		h.tell(ctx, leftTopic(o.runID))
	}
	return nil
}

// refuseGenerations ends the generations that runs were to start, and tells those who wait for them.
func (h *Host) refuseGenerations(ctx context.Context, tx *database.Tx, runIDs []string, why generationReason) error {
	refused, err := refuseGenerations(ctx, tx, runIDs, why)
	if err != nil || len(refused) == 0 {
		return err
	}
	tell := context.WithoutCancel(ctx)
	tx.AfterCommit(func() {
		for _, id := range refused {
			h.tell(tell, generationTopic(id))
		}
	})
	return nil
}

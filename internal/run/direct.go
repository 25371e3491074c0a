package run

import (
	"context"
	"encoding/json"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// A call that asks for no run has one all the same: a run for it alone, which the API does not show, so that everything that holds for calls holds for it: the
// queue, leases, ends (S2-direct1). It is written in the transaction that writes the call, and finished in the one that writes the call's end.

// BeginDirect writes the run of one call.
func BeginDirect(ctx context.Context, tx *database.Tx, r *Run) error {
	return insert(ctx, tx, newRun{Run: r, environment: map[string]string{}, tools: json.RawMessage("[]"), direct: true})
}

// FinishDirect finishes those of the calls' runs that were made for one call.
func FinishDirect(ctx context.Context, tx *database.Tx, callIDs []string, at time.Time) error {
	return finishDirect(ctx, tx, callIDs, at)
}

// Finished notes that the machine's run is finished, as its row says: its computer goes as soon as nothing runs any more.
func (m *Machine) Finished() {
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	m.finished = true
}

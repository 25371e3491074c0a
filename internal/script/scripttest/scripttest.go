package scripttest

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/file"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/script"
)

// Services are those up to scripts, on one database and bus.
type Services struct {
	DB      *database.DB
	Bus     event.Bus
	Once    *idempotency.Service
	Changes *change.Service
	Agents  *agent.Service
	Scripts *script.Service
	Above   *Above // what stands above scripts; nil after NewUnjoined
}

// NewUnjoined makes the services on the database and a bus of the test's. The caller joins Scripts, and Agents with Scripts and his own.
func NewUnjoined(t testing.TB, d *database.DB) *Services {
	t.Helper()
	bus := event.NewMemory()
	t.Cleanup(func() {
		if err := bus.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &Services{DB: d, Bus: bus, Once: idempotency.NewService(d), Changes: change.NewService(d, bus)}
	s.Agents = agent.NewService(d, s.Once)
	s.Scripts = script.NewService(d, s.Agents, s.Changes, s.Once, file.NewService(d, Blobs(t)))
	return s
}

// Blobs is a blob store in memory, closed with the test.
func Blobs(t testing.TB) *blob.Store {
	t.Helper()
	b, err := blob.Open("mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// New makes the services with an Above that remembers what it is told.
func New(t testing.TB, d *database.DB) *Services {
	t.Helper()
	s := NewUnjoined(t, d)
	s.Above = &Above{snapshots: map[string]bool{}}
	s.Scripts.Join(s.Above, s.Above, s.Above)
	s.Agents.Join(s.Scripts, s.Scripts)
	return s
}

// Save saves a script of the agent as the viewer in the context.
func (s *Services) Save(ctx context.Context, t testing.TB, agentID, name string, change ...func(*script.SaveInput)) *script.SavePayload {
	t.Helper()
	return Save(ctx, t, s.Scripts, agentID, name, change...)
}

// Save saves a script of the agent as the viewer in the context: one that prints its name, without parameters, if nothing else is said.
func Save(ctx context.Context, t testing.TB, scripts *script.Service, agentID, name string, change ...func(*script.SaveInput)) *script.SavePayload {
	t.Helper()
	in := Input(agentID, name)
	for _, f := range change {
		f(&in)
	}
	saved, err := scripts.Save(ctx, in)
	if err != nil || len(saved.UserErrors) > 0 {
		t.Fatalf("%s is not saved: %v %v", name, err, saved)
	}
	return saved
}

// Input is the input of Save.
func Input(agentID, name string) script.SaveInput {
	return script.SaveInput{Agent: agentID, Name: name, Description: "Prints " + name + ".", Source: "print(" + string(quote(name)) + ")\n"}
}

// Source gives the script a source.
func Source(source string) func(*script.SaveInput) {
	return func(in *script.SaveInput) { in.Source = source }
}

// Parameters gives the script parameters.
func Parameters(schema string) func(*script.SaveInput) {
	return func(in *script.SaveInput) { in.Parameters = json.RawMessage(schema) }
}

func quote(s string) []byte {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON text
	}
	return raw
}

// Above stands for runs and calls: it fulfils what scripts need of them, and remembers.
type Above struct {
	mu        sync.Mutex
	snapshots map[string]bool
	inTx      [][]string
	removed   []*script.Script
	saved     []*script.Version
	fail      error
}

// Snap says that an open run has the name in its snapshot.
func (a *Above) Snap(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.snapshots[name] = true
}

// Fail has InTx and InOpenSnapshot answer the error from now on; nil: no longer.
func (a *Above) Fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fail = err
}

// Removed are the scripts that AfterCommit was told of.
func (a *Above) Removed() []*script.Script {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.removed
}

// SavedVersions are the versions that Saved was told of.
func (a *Above) SavedVersions() []*script.Version {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.saved
}

// InTx implements script.Removal.
func (a *Above) InTx(_ context.Context, _ *database.Tx, _ string, scriptIDs []string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inTx = append(a.inTx, scriptIDs)
	return a.fail
}

// AfterCommit implements script.Removal.
func (a *Above) AfterCommit(_ context.Context, _ string, scripts []*script.Script) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.removed = append(a.removed, scripts...)
}

// Saved implements script.WriteThrough.
func (a *Above) Saved(_ context.Context, _ *script.Script, v *script.Version) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.saved = append(a.saved, v)
}

// InOpenSnapshot implements script.SnapshotNames.
func (a *Above) InOpenSnapshot(_ context.Context, _ *database.Tx, _, _, name string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.snapshots[name], a.fail
}

package calltest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/artifact"
	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/file"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/organization"
	"github.com/scriptorium-dev/scriptorium/internal/output"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/secret"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// Patience is how long tests wait for what must come.
const Patience = 30 * time.Second

// Options of a server; zero values are defaults for tests.
type Options struct {
	Bus    event.Bus   // an in-process one
	Blobs  *blob.Store // one in memory
	Spool  string      // a folder of the test's own
	Runner runner.Runner
	// Programs are what the fake runner knows from the start, where the server finds calls that wait.
	Programs []runnertest.Program
	Run      run.Config
	Call     call.Config
	// Recover: what an earlier process left is recovered at the start.
	Recover bool
	Log     *slog.Logger // nil: nothing is logged
}

// Server is a server without its edge.
type Server struct {
	t         testing.TB
	DB        *database.DB
	Bus       event.Bus
	Blobs     *blob.Store
	Output    *output.Log
	Fake      *runnertest.Fake // nil where the test has a runner of its own
	Host      *run.Host
	Keys      *key.Service
	Files     *file.Service
	Artifacts *artifact.Service
	Agents    *agent.Service
	Scripts   *script.Service
	Secrets   *secret.Service
	Runs      *run.Service
	Calls     *call.Service
}

// configure fills in what a server needs to be told.
func (o *Options) configure() {
	if o.Run.Server == "" {
		o.Run.Server = id.New("srv")
	}
	if o.Run.Drain == 0 {
		o.Run.Drain = time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Run.Log, o.Call.Log = o.Log, o.Log
}

// New starts a server, which is stopped with the test.
func New(t testing.TB, d *database.DB, o Options) *Server {
	t.Helper()
	s := &Server{t: t, DB: d, Bus: o.Bus, Blobs: o.Blobs}
	if s.Bus == nil {
		s.Bus = event.NewMemory()
		t.Cleanup(func() { s.check(s.Bus.Close()) })
	}
	if s.Blobs == nil {
		s.Blobs = Blobs(t)
	}
	if o.Spool == "" {
		o.Spool = t.TempDir()
	}
	if o.Runner == nil {
		s.Fake = runnertest.NewFake()
		for _, program := range o.Programs {
			s.Fake.Add(program)
		}
		o.Runner = s.Fake
	}
	o.configure()
	var err error
	s.Output, err = output.Open(output.Options{Dir: o.Spool, Bus: s.Bus, Blobs: s.Blobs})
	s.check(err)
	once := idempotency.NewService(d)
	s.Agents = agent.NewService(d, once)
	s.Files = file.NewService(d, s.Blobs)
	s.Scripts = script.NewService(d, s.Agents, change.NewService(d, s.Bus), once, s.Files)
	s.Secrets = secret.NewService(d, s.Agents)
	s.Artifacts = artifact.NewService(d, s.Files)
	s.Keys = key.NewService(d, organization.NewService(d))
	o.Run.Blobs, o.Run.Files = s.Blobs, s.Files
	s.Host = run.NewHost(d, s.Bus, o.Runner, o.Run)
	s.Runs = run.NewService(d, s.Agents, s.Scripts, tool.NewService(d, s.Scripts), s.Files, once, s.Host)
	s.Calls = call.NewService(d, s.Bus, s.Output, s.Scripts, s.Secrets, s.Keys, s.Artifacts, once, s.Host, o.Call)
	s.Host.Join(s.Calls)
	s.Agents.Join(s.Scripts, s.Scripts, s.Runs.AgentRemoval(), s.Secrets.AgentRemoval())
	s.Scripts.Join(s.Host.Scripts(), s.Host.Scripts(), s.Host.Scripts())
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	s.check(s.Secrets.Unlock(ctx, secret.Source{File: filepath.Join(t.TempDir(), secret.KeyFile)}))
	if o.Recover {
		s.check(s.Calls.Recover(ctx))
	}
	s.check(s.Host.Start(ctx))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		s.check(s.Host.Stop(ctx))
		s.check(s.Output.Close())
	})
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

func (s *Server) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// Viewer is someone of a new organization with every capability, in a context that ends with the test.
func Viewer(t testing.TB, d *database.DB) (context.Context, *key.Viewer) {
	t.Helper()
	v := &key.Viewer{Key: &key.Key{ID: id.New(id.Key), Capabilities: key.Capabilities()}}
	ctx, cancel := context.WithTimeout(context.Background(), 2*Patience)
	t.Cleanup(cancel)
	err := d.InTx(ctx, func(ctx context.Context, tx *database.Tx) (err error) {
		if v.Organization, err = organization.NewService(d).CreateInTx(ctx, tx, "test", nil); err != nil {
			return err
		}
		return insertKey(ctx, tx, v.Organization.ID, v.Key)
	})
	if err != nil {
		t.Fatal(err)
	}
	v.Key.OrganizationID = v.Organization.ID
	return key.WithViewer(ctx, v), v
}

// Another is someone of the viewer's organization whose key has these capabilities.
func Another(ctx context.Context, t testing.TB, d *database.DB, v *key.Viewer, capabilities ...key.Capability) (context.Context, *key.Viewer) {
	t.Helper()
	other := &key.Viewer{Organization: v.Organization, Key: &key.Key{ID: id.New(id.Key), OrganizationID: v.Organization.ID, Capabilities: capabilities}}
	err := d.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		return insertKey(ctx, tx, v.Organization.ID, other.Key)
	})
	if err != nil {
		t.Fatal(err)
	}
	return key.WithViewer(ctx, other), other
}

// Deny gives a viewer's key rules that deny these patterns.
func Deny(ctx context.Context, t testing.TB, d *database.DB, v *key.Viewer, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		v.Key.ToolRules = append(v.Key.ToolRules, &key.ToolRule{Effect: key.Deny, Pattern: p})
	}
	raw, err := json.Marshal(v.Key.ToolRules)
	if err != nil {
		t.Fatal(err)
	}
	err = d.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.SQL().ExecContext(ctx, "UPDATE keys SET tool_rules = $2 WHERE id = $1", v.Key.ID, raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// insertKey writes the row of a key that nobody has the secret of.
func insertKey(ctx context.Context, tx *database.Tx, organizationID string, k *key.Key) error {
	capabilities := make([]string, len(k.Capabilities))
	for i, c := range k.Capabilities {
		capabilities[i] = string(c)
	}
	sum := sha256.Sum256([]byte(k.ID))
	return tx.Ent().Key.Create().SetID(k.ID).SetOrganizationID(organizationID).SetName("test").SetPrefix("test").SetSecretSha256(sum[:]).
		SetCapabilities(capabilities).SetCreatedAt(database.Now()).Exec(ctx)
}

// Agent makes an agent and answers its id.
func (s *Server) Agent(ctx context.Context) string {
	s.t.Helper()
	many := 1000
	p, err := s.Agents.Create(ctx, agent.CreateInput{Name: "agent", MaxScripts: &many})
	s.check(err)
	if p.Agent == nil {
		s.t.Fatal(p.UserErrors)
	}
	return p.Agent.ID
}

// Save saves a script; parameters "" is none.
func (s *Server) Save(ctx context.Context, agentID, name, source, parameters string) *script.SavePayload {
	s.t.Helper()
	in := script.SaveInput{Agent: agentID, Name: name, Description: "Does " + name + ".", Source: source}
	if parameters != "" {
		in.Parameters = json.RawMessage(parameters)
	}
	p, err := s.Scripts.Save(ctx, in)
	s.check(err)
	if p.Script == nil {
		s.t.Fatal(p.UserErrors)
	}
	return p
}

// Delete deletes a script.
func (s *Server) Delete(ctx context.Context, agentID, name string) {
	s.t.Helper()
	p, err := s.Scripts.Delete(ctx, script.DeleteInput{Agent: agentID, Name: name})
	s.check(err)
	if p.DeletedID == nil {
		s.t.Fatal(p.UserErrors)
	}
}

// Run makes a run of the agent and answers its id.
func (s *Server) Run(ctx context.Context, agentID string) string {
	s.t.Helper()
	p, err := s.Runs.Create(ctx, run.CreateInput{Agent: &agentID})
	s.check(err)
	if p.Run == nil {
		s.t.Fatal(p.UserErrors)
	}
	return p.Run.ID
}

// Call calls a tool and waits for its end; arguments "" is none.
func (s *Server) Call(ctx context.Context, runID, name, arguments string) *call.Call {
	s.t.Helper()
	return s.call(ctx, runID, name, arguments, true)
}

// Begin calls a tool without waiting.
func (s *Server) Begin(ctx context.Context, runID, name, arguments string) *call.Call {
	s.t.Helper()
	return s.call(ctx, runID, name, arguments, false)
}

func (s *Server) call(ctx context.Context, runID, name, arguments string, wait bool) *call.Call {
	s.t.Helper()
	in := call.ToolCallInput{Run: &runID, Name: name, Wait: &wait}
	if arguments != "" {
		in.Arguments = json.RawMessage(arguments)
	}
	p, err := s.Calls.ToolCall(ctx, in)
	s.check(err)
	if p.Call == nil {
		s.t.Fatal(p.UserErrors)
	}
	return p.Call
}

// Script calls script_run with a script's name, and waits for the end.
func (s *Server) Script(ctx context.Context, runID, name string) *call.Call {
	s.t.Helper()
	return s.Call(ctx, runID, "script_run", `{"name":"`+name+`"}`)
}

// Ended waits for a call's end and answers it.
func (s *Server) Ended(ctx context.Context, c *call.Call) *call.Call {
	s.t.Helper()
	return s.Until(ctx, c, func(c *call.Call) bool { return c.Status.Ended() })
}

// Until waits until a call is as wanted.
func (s *Server) Until(ctx context.Context, c *call.Call, wanted func(*call.Call) bool) *call.Call {
	s.t.Helper()
	deadline := time.Now().Add(Patience)
	for {
		found, err := s.Calls.ByIDs(ctx, c.OrganizationID, []string{c.ID})
		s.check(err)
		if found[c.ID] != nil && wanted(found[c.ID]) {
			return found[c.ID]
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("waited for in vain: call %s is %s", c.ID, found[c.ID].Status)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Arrived waits until a program has come to `wait name`.
func (s *Server) Arrived(name string) {
	s.t.Helper()
	select {
	case <-s.Fake.Arrived(name):
	case <-time.After(Patience):
		s.t.Fatalf("no program came to wait %s", name)
	}
}

// Eventually waits until something is so.
func Eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for !so() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Folder is a blob store in a folder of the test's own, as a deployment has it.
func Folder(t testing.TB) *blob.Store {
	t.Helper()
	b, err := blob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// signalled cancels when it has been told that the server is ready.
type signalled struct {
	bytes.Buffer
	cancel context.CancelFunc
}

func (s *signalled) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "is ready") {
		defer s.cancel()
	}
	return s.Buffer.Write(p)
}

// served is what serve prints when it is stopped once it is ready.
func served(t *testing.T, data string) string {
	t.Helper()
	c, err := parseConfig("serve", []string{"--listen", "127.0.0.1:0", "--data", data}, environment(nil), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &signalled{cancel: cancel}
	s := &server{config: c, log: slog.New(slog.DiscardHandler), runner: runnertest.NewFake()}
	if err := s.run(ctx, out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestServeSaysWhereTheKeyIs(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	file := filepath.Join(data, "admin.key")
	first := served(t, data)
	if !strings.Contains(first, "/playground\nThe operator's key is in "+file+"\n") || !strings.HasSuffix(first, "Stopping: no call runs.\nStopped.\n") {
		t.Errorf("the first start prints\n%s", first)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if again := served(t, data); strings.Contains(again, "key is in") || !strings.Contains(again, `"scriptorium key" makes another one`) {
		t.Errorf("without the file serve prints\n%s", again)
	}
	var out, errs bytes.Buffer
	if err := execute(t.Context(), []string{"key", "--data", data}, &out, &errs); err != nil || out.Len() == 0 {
		t.Errorf("key prints %q and answers %v", out.String(), err)
	}
}

func TestServerSaysThatItsAddressIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address, data := taken.Addr().String(), filepath.Join(t.TempDir(), "data")
	s := &server{config: &config{Listen: address, Data: data}, log: slog.New(slog.DiscardHandler), runner: runnertest.NewFake()}
	want := address + " is in use: give another one with --listen (make run LISTEN=127.0.0.1:8081)"
	if err := s.start(t.Context()); err == nil || err.Error() != want {
		t.Errorf("start answers %v, want %s", err, want)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("something was written")
	}
}

func TestServerGivesItsAddressBack(t *testing.T) {
	t.Parallel()
	s := startServer(t, database.SQLite)
	c := *s.config
	second := &server{config: &c, log: slog.New(slog.DiscardHandler), runner: runnertest.NewFake()}
	want := c.Data + " is in use by another server: stop it, or give this one a --data of its own"
	if err := second.start(t.Context()); err == nil || err.Error() != want {
		t.Errorf("a second server answers %v, want %s", err, want)
	}
	if l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", second.listener.Addr().String()); err != nil {
		t.Errorf("a start that failed keeps its address: %v", err)
	} else {
		_ = l.Close()
	}
	want = c.Data + " is in use by another server: stop it first"
	for name, command := range map[string]func(context.Context, *config, io.Writer) error{"key": newKey, "migrate": migrate} {
		if err := command(t.Context(), &c, io.Discard); err == nil || err.Error() != want {
			t.Errorf("%s answers %v, want %s", name, err, want)
		}
	}
}

func TestKeyMakesNoDatabase(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	want := "there is no database in " + data + ": is --data right?"
	if err := newKey(t.Context(), &config{Data: data}, io.Discard); err == nil || err.Error() != want {
		t.Errorf("key answers %v, want %s", err, want)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("something was made")
	}
}

func TestServerGoesOnWithoutItsBus(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	s := &server{config: &config{RedisURL: "unix://" + filepath.Join(t.TempDir(), "none.sock")}, log: slog.New(slog.NewTextHandler(&logged, nil))}
	p := s.busPart()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(logged.String(), "level=WARN") || !strings.Contains(logged.String(), "events from other servers are late") {
		t.Errorf("logged: %s", logged.String())
	}
}

func TestRootLeadsToThePlayground(t *testing.T) {
	t.Parallel()
	s := startServer(t, database.SQLite)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if w.Code != http.StatusFound || w.Header().Get("Location") != "/playground" {
		t.Errorf("GET / answers %d to %q", w.Code, w.Header().Get("Location"))
	}
}

// A second signal ends what runs, and what waits for it, at once.
func TestServerStopsAtOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t, database.SQLite)
	started := make(chan struct{})
	s.fake.Add(runnertest.Program{Match: runnertest.Source("for ever"), Run: func(ctx context.Context, _ *runnertest.Proc) runnertest.Exit {
		close(started)
		<-ctx.Done()
		return runnertest.Exit{}
	}})
	agent := s.agent(t, s.operator, "worker", 10)
	s.save(t, s.operator, agent, "endless", "for ever")
	r := s.must(t, s.operator, `mutation($a: ID!) { runCreate(input: {agent: $a}) { run { id } userErrors { message } } }`, map[string]any{"a": agent})
	run := at[string](t, r, "runCreate", "run", "id")
	answered := make(chan answer, 1)
	go func() {
		answered <- s.send(t, s.operator, `mutation($r: ID!) { toolCall(input: {run: $r, name: "endless"}) { call { id status } userErrors { message } } }`, map[string]any{"r": run})
	}()
	select {
	case <-started:
	case a := <-answered:
		t.Fatalf("the call is answered: %v", a)
	}
	if n := s.words.host.Running(); n != 1 {
		t.Errorf("%d calls run", n)
	}
	again, signal := context.WithCancel(t.Context())
	signal()
	s.again = again
	begun := time.Now()
	if err := s.stop(context.Background()); err != nil {
		t.Errorf("stop: %v", err)
	}
	if took := time.Since(begun); took > edgeBudget/2 {
		t.Errorf("stopping took %s", took)
	}
	<-answered
}

func TestStoppingSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		0: "Stopping: no call runs.", 1: "Stopping: 1 call runs and has 20 s; Ctrl-C again stops at once.",
		2: "Stopping: 2 calls run and have 20 s; Ctrl-C again stops at once.",
	} {
		if got := stopping(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args  string
		usage bool // exit code 2
		has   []string
		no    []string
	}{
		{"--help", false, []string{"serves the API", "migrate", "makes another key", "version"}, nil},
		{"help", false, []string{"serves the API"}, nil},
		{"serve --help", false, []string{"scriptorium serve: serves", "--listen address", "SCRIPTORIUM_LISTEN, default 127.0.0.1:8080", "--check-config\n"}, nil},
		{"key --help", false, []string{"another key", "--data", "--database-url"}, []string{"--listen", "--redis-url"}},
		{"migrate --help", false, []string{"--data", "--database-url"}, []string{"--listen", "--check-config"}},
		{"sreve", true, []string{`unknown command "sreve"`}, []string{"--data"}},
		{"serve --lisen x", true, []string{"--lisen", `"scriptorium serve --help" lists the flags.`}, []string{"--data"}},
		{"serve --computers x", true, []string{`"x" for flag --computers`}, []string{"--data"}},
		{"version now", true, []string{"no arguments"}, nil},
		{"serve --check-config --blob-url s3://x", true, []string{"--blob-url"}, nil},
	} {
		var out, errs bytes.Buffer
		err := execute(t.Context(), strings.Fields(c.args), &out, &errs)
		said := out.String()
		if c.usage {
			said = errs.String()
		}
		if exitCode(err) != map[bool]int{false: 0, true: 2}[c.usage] {
			t.Errorf("%s: exit code %d, %v", c.args, exitCode(err), err)
		}
		for _, w := range c.has {
			if !strings.Contains(said, w) {
				t.Errorf("%s: %q is not in %s", c.args, w, said)
			}
		}
		for _, w := range c.no {
			if strings.Contains(said, w) {
				t.Errorf("%s: %q is in %s", c.args, w, said)
			}
		}
	}
}

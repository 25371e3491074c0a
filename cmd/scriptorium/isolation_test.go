package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/logtest"
	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// A server that finds less of isolation than it was told that there must be makes no computer: calls are answered the fixed sentence, the
// deployment has no image, and the log says once what is missing.
func TestLessIsolationThanConfigured(t *testing.T) {
	t.Parallel()
	fallback := []runner.Lack{{Part: runner.PartImage, Why: "computers are made of this machine's own /usr, read-only"}}
	for name, make := range map[string]func(*config) runner.Runner{
		"full on the fallback":     func(c *config) runner.Runner { c.Image, c.Isolation = imageHost, "full"; return nil },
		"image on the fallback":    func(c *config) runner.Runner { c.Image, c.Isolation = imageHost, "image"; return nil },
		"an image that is missing": func(c *config) runner.Runner { c.Image = "/nonexistent.erofs"; return nil },
		"a runner that refuses": func(*config) runner.Runner {
			f := runnertest.NewFake()
			f.FailCheck(runner.IsolationFull.Check(fallback))
			return f
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := parseConfig("serve", []string{"--listen", "127.0.0.1:0", "--data", t.TempDir(), "--runsc", runsc(t)}, environment(nil), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			log := &logtest.Log{}
			s := &testServer{server: &server{config: c, log: log.Logger(), runner: make(c)}}
			s.begin(t)
			_, why := s.words.host.Report(t.Context())
			if why == nil {
				t.Fatal("there are computers")
			}
			if name != "an image that is missing" && !strings.Contains(why.Error(), "image (computers are made of this machine's own /usr, read-only)") {
				t.Errorf("it says %q", why)
			}
			var out strings.Builder
			s.reportComputers(t.Context(), &out)
			if !strings.Contains(out.String(), "NO COMPUTERS: "+why.Error()) {
				t.Errorf("the start says %q", out.String())
			}
			s.refuses(t)
			s.refuses(t)
			if n := strings.Count(log.String(), "there are no computers"); n != 1 {
				t.Errorf("the log says it %d times: %s", n, log.String())
			}
		})
	}
}

// refuses fails unless a call of a new run is refused, and the deployment has no image.
func (s *testServer) refuses(t *testing.T) {
	t.Helper()
	d := s.must(t, s.operator, `{ deployment { version image { digest } } }`, nil)
	if image := at[map[string]any](t, d, "deployment")["image"]; image != nil {
		t.Errorf("the deployment has an image: %v", image)
	}
	agent := s.agent(t, s.operator, "a", 10)
	s.save(t, s.operator, agent, "plain", "print(1)")
	d = s.must(t, s.operator, `mutation($a: ID!) { runCreate(input: {agent: $a}) { run { id } userErrors { message } } }`, map[string]any{"a": agent})
	run := at[string](t, d, "runCreate", "run", "id")
	d = s.must(t, s.operator, `mutation($r: ID!) { toolCall(input: {run: $r, name: "plain", arguments: {}}) { call { status errorCode text } userErrors { message } } }`,
		map[string]any{"r": run})
	call := at[map[string]any](t, d, "toolCall", "call")
	if call["status"] != "REFUSED" || call["errorCode"] != "NOT_CONFIGURED" || call["text"] != "This tool is not configured on this deployment." {
		t.Errorf("the call: %v", call)
	}
}

// What computers lack of full isolation is said loudly at the start.
func TestLacksAreSaidAtTheStart(t *testing.T) {
	t.Parallel()
	c, err := parseConfig("serve", []string{"--listen", "127.0.0.1:0", "--data", t.TempDir()}, environment(nil), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	f := runnertest.NewFake()
	f.SetReport(runner.Report{Gvisor: "fake", Lacks: []runner.Lack{{Part: runner.PartMemory, Why: "the server is not root"}}, Libraries: []string{"pypi six 1.16.0"}, MemoryLimit: "a look"})
	s := &testServer{server: &server{config: c, log: slog.New(slog.DiscardHandler), runner: f}}
	s.begin(t)
	var out strings.Builder
	s.reportComputers(t.Context(), &out)
	if !strings.Contains(out.String(), "NOTE: less than full isolation: memory cgroup: the server is not root.") {
		t.Errorf("the start says %q", out.String())
	}
	d := s.must(t, s.operator, `{ deployment { image { libraries memoryLimit } } }`, nil)
	if l := at[[]any](t, d, "deployment", "image", "libraries"); len(l) != 1 || l[0] != "pypi six 1.16.0" || at[string](t, d, "deployment", "image", "memoryLimit") != "a look" {
		t.Errorf("%v", d)
	}
}

// What doctor would warn of is said at the start as well: too few open files, and a manifest that belongs to another image.
func TestMachineIsSaidAtTheStart(t *testing.T) {
	t.Parallel()
	image := filepath.Join(t.TempDir(), "computer.erofs")
	if err := os.WriteFile(strings.TrimSuffix(image, ".erofs")+".json", []byte(`{"digest": "sha256:other", "release": "Debian"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		computers, digest string
		says, saysNot     []string
	}{
		{"4", "sha256:other", nil, []string{"NOTE: open files", "NOTE: image"}},
		{"100000000", "sha256:this", []string{"NOTE: open files: at most ", "lower --computers to ", "NOTE: image: " + image + ", sha256:this; the manifest beside it belongs to another one, sha256:other. One of"}, nil},
	} {
		c, err := parseConfig("serve", []string{"--data", t.TempDir(), "--image", image, "--computers", k.computers}, environment(nil), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		(&server{config: c}).reportMachine(&runner.Report{Digest: k.digest}, &out)
		for _, w := range k.says {
			if strings.Count(out.String(), w) != 1 {
				t.Errorf("%+v: it says %q", k, out.String())
			}
		}
		for _, w := range k.saysNot {
			if strings.Contains(out.String(), w) {
				t.Errorf("%+v: it says %q", k, out.String())
			}
		}
	}
}

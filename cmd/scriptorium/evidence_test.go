package main

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

const evidenceOf = `id status errorCode durationMs cpuMs peakMemoryBytes evidence { wallMs cpuMs peakMemoryBytes reason processesKilled isolation {
	gvisor platform network imageDigest memoryLimit processesLeft mounts { path type readOnly }
	limits { memoryBytes addressSpaceBytes fileSizeBytes openFiles processes workspaceBytes scriptsBytes homeBytes tmpBytes timeoutSeconds } } }`

// calls calls script_run in a run and answers the call with its evidence.
func (s *testServer) calls(t *testing.T, secret, runID, name string, wait bool) map[string]any {
	t.Helper()
	d := s.must(t, secret, `mutation($r: ID!, $a: JSON!, $w: Boolean!) { toolCall(input: {run: $r, name: "script_run", arguments: $a, wait: $w}) { call { `+evidenceOf+` } userErrors { message } } }`,
		map[string]any{"r": runID, "a": map[string]any{"name": name}, "w": wait})
	return at[map[string]any](t, d, "toolCall", "call")
}

// evidence reads a call's.
func (s *testServer) evidence(t *testing.T, secret, callID string) map[string]any {
	t.Helper()
	return at[map[string]any](t, s.must(t, secret, `query($c: ID!) { call(id: $c) { `+evidenceOf+` } }`, map[string]any{"c": callID}), "call")
}

// run makes a run of an agent and answers its id.
func (s *testServer) run(t *testing.T, secret, agent string) string {
	t.Helper()
	d := s.must(t, secret, `mutation($a: ID!) { runCreate(input: {agent: $a}) { run { id } userErrors { message } } }`, map[string]any{"a": agent})
	return at[string](t, d, "runCreate", "run", "id")
}

// until reads a call until it is as wanted.
func (s *testServer) until(t *testing.T, secret, callID string, wanted func(map[string]any) bool) map[string]any {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		c := s.evidence(t, secret, callID)
		if wanted(c) {
			return c
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited for in vain: %v", c)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func isStatus(status string) func(map[string]any) bool {
	return func(c map[string]any) bool { return c["status"] == status }
}

// isolated is what the fake's computers say of themselves, as the API shows it.
func isolated(t *testing.T, report *runner.Report, timeoutSeconds int) (want map[string]any) {
	t.Helper()
	b, err := json.Marshal(map[string]any{
		"gvisor": report.Gvisor, "platform": report.Platform, "network": "none", "imageDigest": report.Digest, "memoryLimit": report.MemoryLimit,
		"processesLeft": 0,
		"limits": map[string]any{
			"memoryBytes": "536870912", "addressSpaceBytes": "536870912", "fileSizeBytes": "268435456", "openFiles": 1024, "processes": 64,
			"workspaceBytes": "268435456", "scriptsBytes": "268435456", "homeBytes": "268435456", "tmpBytes": "67108864", "timeoutSeconds": timeoutSeconds,
		},
		"mounts": []map[string]any{
			{"path": "/", "type": "fake", "readOnly": true}, {"path": "/workspace", "type": "tmpfs", "readOnly": false},
			{"path": "/home", "type": "tmpfs", "readOnly": false}, {"path": "/tmp", "type": "tmpfs", "readOnly": false},
		},
	})
	if err == nil {
		err = json.Unmarshal(b, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// TestEvidenceOfCalls: what a call tells of its end, for each way in which one ends, in its answer and when it is read again.
func TestEvidenceOfCalls(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *testServer) {
		secret := s.organization(t, "evidence")
		agent := s.agent(t, secret, "evidence", 20)
		for name, source := range map[string]string{
			"good": "#fake: out well\n", "bad": "#fake: exit 3\n", "signal": "#fake: signal SIGSEGV\n", "memory": "#fake: memory\n",
			"lost": "#fake: lost\n", "wait": "#fake: wait go\n#fake: hang\n", "gone": "#fake: wait gone\n#fake: hang\n",
		} {
			s.save(t, secret, agent, name, source)
		}
		report, err := s.fake.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r, want := s.run(t, secret, agent), isolated(t, report, 120)
		expect := func(c map[string]any, status, reason string, ran bool) {
			t.Helper()
			if c["status"] != status {
				t.Fatalf("%v, not %s", c, status)
			}
			for _, c := range []map[string]any{c, s.evidence(t, secret, c["id"].(string))} {
				e := at[map[string]any](t, c, "evidence")
				if e["reason"] != reason || e["wallMs"] != c["durationMs"] || e["cpuMs"] != c["cpuMs"] || e["peakMemoryBytes"] != c["peakMemoryBytes"] {
					t.Errorf("%s: %v of %v", reason, e, c)
				}
				if got := e["isolation"]; ran && !reflect.DeepEqual(got, any(want)) || !ran && got != nil {
					t.Errorf("%s: isolated as %v, not %v", reason, got, want)
				}
				if measured := ran && status != "LOST"; (e["wallMs"] != nil) != measured || (e["processesKilled"] != nil) != measured {
					t.Errorf("%s: measured as %v", reason, e)
				}
			}
		}
		expect(s.calls(t, secret, r, "good", true), "SUCCEEDED", "EXIT", true)
		expect(s.calls(t, secret, r, "bad", true), "FAILED", "EXIT", true)
		expect(s.calls(t, secret, r, "signal", true), "FAILED", "SIGNAL", true)
		expect(s.calls(t, secret, r, "memory", true), "FAILED", "MEMORY", true)
		expect(s.calls(t, secret, r, "lost", true), "LOST", "LOST", true)
		if c := s.calls(t, secret, r, "nothing", true); c["status"] != "REFUSED" || c["evidence"] != nil {
			t.Errorf("a refused call: %v", c)
		}

		// None until the end; a call that waits has been cancelled, and was never isolated.
		running, waiting := s.calls(t, secret, r, "wait", false), s.calls(t, secret, r, "good", false)
		<-s.fake.Arrived("go")
		for _, c := range []map[string]any{running, waiting} {
			if c := s.evidence(t, secret, c["id"].(string)); c["evidence"] != nil {
				t.Errorf("evidence before the end: %v", c)
			}
		}
		cancel := func(c map[string]any) map[string]any {
			t.Helper()
			d := s.must(t, secret, `mutation($c: ID!) { callCancel(input: {call: $c}) { call { `+evidenceOf+` } userErrors { message } } }`, map[string]any{"c": c["id"]})
			return at[map[string]any](t, d, "callCancel", "call")
		}
		expect(cancel(waiting), "CANCELLED", "CANCELLED", false)
		expect(cancel(running), "CANCELLED", "CANCELLED", true)

		deleted := []map[string]any{s.calls(t, secret, r, "gone", false), s.calls(t, secret, r, "gone", false)}
		<-s.fake.Arrived("gone")
		s.must(t, secret, `mutation($a: ID!) { agentScriptDelete(input: {agent: $a, name: "gone"}) { deletedId userErrors { message } } }`, map[string]any{"a": agent})
		for i, c := range deleted {
			expect(s.until(t, secret, c["id"].(string), isStatus("CANCELLED")), "CANCELLED", "DELETED", i == 0)
		}
	})
}

// TestEvidenceOfATimeout: the time of a call is that of its key where this is less, and its isolation says so.
func TestEvidenceOfATimeout(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *testServer) {
		d := s.must(t, s.operator, `mutation { keyCreate(input: {name: "short", capabilities: [TOOLING, COMPUTER], execTimeoutSeconds: 1}) { secret userErrors { message } } }`, nil)
		secret := at[string](t, d, "keyCreate", "secret")
		agent := s.agent(t, secret, "late", 1)
		s.save(t, secret, agent, "hang", "#fake: hang\n")
		c := s.calls(t, secret, s.run(t, secret, agent), "hang", true)
		if c["status"] != "TIMED_OUT" || at[string](t, c, "evidence", "reason") != "TIME" || at[float64](t, c, "evidence", "isolation", "limits", "timeoutSeconds") != 1 {
			t.Errorf("a call that took too long: %v", c)
		}
	})
}

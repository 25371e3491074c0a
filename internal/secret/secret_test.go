package secret

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/agent/agenttest"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/key/keytest"
)

type world struct {
	db      *database.DB
	agents  *agent.Service
	secrets *Service
	file    string // of the keys
	viewer  *key.Viewer
	ctx     context.Context
	agent   string
}

func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		v := keytest.Viewer(t, d)
		w := &world{
			db: d, agents: agent.NewService(d, idempotency.NewService(d)), file: filepath.Join(t.TempDir(), KeyFile), viewer: v, ctx: key.WithViewer(t.Context(), v),
		}
		w.secrets = NewService(d, w.agents)
		w.agents.Join(nil, w.secrets.AgentRemoval())
		if err := w.secrets.Unlock(w.ctx, Source{File: w.file}); err != nil {
			t.Fatal(err)
		}
		w.agent = agenttest.New(w.ctx, t, w.agents).ID
		f(t, w)
	})
}

// set sets a secret, which must not be refused.
func (w *world) set(t *testing.T, name, value string) *SetPayload {
	t.Helper()
	p, err := w.secrets.Set(w.ctx, SetInput{Agent: w.agent, Name: name, Description: "for " + name, Value: value})
	if err != nil || len(p.UserErrors) > 0 {
		t.Fatalf("%s is not set: %v %v", name, err, p)
	}
	return p
}

// values are what a call of the agent would get.
func (w *world) values(t *testing.T) string {
	t.Helper()
	v, err := w.secrets.Values(w.ctx, w.viewer.Organization.ID, w.agent)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(v)
}

// refused describes the one refusal.
func refused(all []fault.UserError) string {
	if len(all) != 1 {
		return fmt.Sprint(len(all), " refusals")
	}
	switch e := all[0].(type) {
	case *fault.PlainUserError:
		return string(e.Code) + " " + strings.Join(e.Path, ".")
	case *fault.CapReached:
		return fmt.Sprint(e.Code, " ", strings.Join(e.Path, "."), " ", e.Limit, ": ", e.Message)
	case *fault.NotConfigured:
		return string(e.Code) + " " + strings.Join(e.Path, ".") + " " + e.ReasonCode
	}
	return fmt.Sprint(all[0])
}

func TestS1SecretSetAndDelete(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		org := w.viewer.Organization.ID
		if p := w.set(t, "TOKEN", "first-value"); !*p.Created || p.Secret.Name != "TOKEN" || p.Secret.Description != "for TOKEN" || p.Agent.ID != w.agent {
			t.Errorf("got %+v", p)
		}
		w.set(t, "A_2", "a\nb")
		w.set(t, "_", " ")
		if p := w.set(t, "TOKEN", "second-value"); *p.Created {
			t.Error("it was there before")
		}
		if got := w.values(t); got != "map[A_2:a\nb TOKEN:second-value _: ]" {
			t.Errorf("values: %q", got)
		}
		other := agenttest.New(w.ctx, t, w.agents).ID
		found, err := w.secrets.OfAgents(w.ctx, org, []string{w.agent, other, "agt_\x00", ""})
		if err != nil || len(found) != 1 || len(found[w.agent]) != 3 || found[w.agent][0].Name != "A_2" || found[w.agent][1].Name != "TOKEN" || found[w.agent][2].Name != "_" {
			t.Errorf("%v: %v", err, found)
		}
		if p, err := w.secrets.Delete(w.ctx, DeleteInput{w.agent, "TOKEN"}); err != nil || *p.DeletedID != "TOKEN" || p.Agent.ID != w.agent {
			t.Errorf("%v %+v", err, p)
		}
		for _, name := range []string{"TOKEN", "", "a\x00", strings.Repeat("X", 10_000)} {
			if p, err := w.secrets.Delete(w.ctx, DeleteInput{w.agent, name}); err != nil || p.DeletedID != nil || refused(p.UserErrors) != "NOT_FOUND input.name" {
				t.Errorf("%.10q: %v %+v", name, err, p)
			}
		}
		if got := w.values(t); got != "map[A_2:a\nb _: ]" {
			t.Errorf("values: %q", got)
		}
	})
}

func TestS1SecretRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		good := SetInput{Agent: w.agent, Name: "TOKEN", Description: "x", Value: "the-value"}
		for want, changes := range map[string][]func(*SetInput){
			"INVALID input.name": {
				func(in *SetInput) { in.Name = "" }, func(in *SetInput) { in.Name = "token" }, func(in *SetInput) { in.Name = "TOKEN\n" }, func(in *SetInput) { in.Name = "2A" },
				func(in *SetInput) { in.Name = "А" }, func(in *SetInput) { in.Name = "A=B" }, func(in *SetInput) { in.Name = "A\x00" },
				func(in *SetInput) { in.Name = strings.Repeat("A", 256) },
			},
			"NAME_RESERVED input.name": {
				func(in *SetInput) { in.Name = "PATH" }, func(in *SetInput) { in.Name = "HOME" }, func(in *SetInput) { in.Name = "TZ" }, func(in *SetInput) { in.Name = "LANG" },
				func(in *SetInput) { in.Name = "PYTHONPATH" }, func(in *SetInput) { in.Name = "NODE_OPTIONS" }, func(in *SetInput) { in.Name = "LD_PRELOAD" },
				func(in *SetInput) { in.Name = "ARTIFIC_X" }, func(in *SetInput) { in.Name = "GUILDS_SCRIPT_ARGS" }, func(in *SetInput) { in.Name = "SCRIPTORIUM_RUN_ID" },
			},
			"INVALID input.description": {
				func(in *SetInput) { in.Description = "" }, func(in *SetInput) { in.Description = " \u00a0\n" }, func(in *SetInput) { in.Description = strings.Repeat("ä", 401) },
				func(in *SetInput) { in.Description = "a\x00" }, func(in *SetInput) { in.Description = "\xff" },
			},
			"INVALID input.value": {
				func(in *SetInput) { in.Value = "" }, func(in *SetInput) { in.Value = "the-value\x00" }, func(in *SetInput) { in.Value = "the-value\xff" },
			},
			"TOO_LARGE input.value": {func(in *SetInput) { in.Value = strings.Repeat("x", MaxValue+1) }},
			"NOT_FOUND input.agent": {
				func(in *SetInput) { in.Agent = "" }, func(in *SetInput) { in.Agent = id.New(id.Agent) }, func(in *SetInput) { in.Agent = "agt_\x00" },
			},
		} {
			for i, change := range changes {
				in := good
				change(&in)
				p, err := w.secrets.Set(w.ctx, in)
				if err != nil || p.Secret != nil || p.Agent != nil || p.Created != nil || refused(p.UserErrors) != want {
					t.Errorf("%s %d: %v %+v", want, i, err, p)
					continue
				}
				if strings.Contains(p.UserErrors[0].Error(), "the-value") {
					t.Errorf("the refusal tells the value: %s", p.UserErrors[0])
				}
			}
		}
		if p, err := w.secrets.Set(w.ctx, SetInput{Agent: w.agent}); err != nil || len(p.UserErrors) != 3 {
			t.Errorf("all at once: %v %+v", err, p)
		}
		if got := w.values(t); got != "map[]" {
			t.Errorf("something was set: %s", got)
		}
		// The longest that there may be.
		in := SetInput{w.agent, strings.Repeat("A", 255), strings.Repeat("ä", MaxDescription), strings.Repeat("x", MaxValue)}
		if p, err := w.secrets.Set(w.ctx, in); err != nil || len(p.UserErrors) > 0 {
			t.Errorf("%v %+v", err, p)
		}
	})
}

func TestS1SecretBounds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		// 20 at once where there is room for one more: one comes through.
		for i := range MaxSecrets - 1 {
			w.set(t, fmt.Sprintf("S%d", i), "value")
		}
		var all sync.WaitGroup
		results := make([]string, 20)
		for i := range results {
			all.Go(func() {
				p, err := w.secrets.Set(w.ctx, SetInput{w.agent, fmt.Sprintf("NEW%d", i), "d", "value"})
				if err != nil {
					t.Error(err)
				} else if len(p.UserErrors) > 0 {
					results[i] = refused(p.UserErrors)
				}
			})
		}
		all.Wait()
		made := 0
		for _, r := range results {
			if r == "" {
				made++
			} else if r != "CAP_REACHED input.name 64: this agent is limited to 64 secrets" {
				t.Errorf("refused: %s", r)
			}
		}
		if made != 1 {
			t.Errorf("%d came through", made)
		}
		w.set(t, "S0", "replaced-at-the-cap")
		// Names and values together.
		w.agent = agenttest.New(w.ctx, t, w.agents).ID
		w.set(t, "A", strings.Repeat("x", MaxValue))
		w.set(t, "B", strings.Repeat("x", MaxValue-3))
		if p, err := w.secrets.Set(w.ctx, SetInput{w.agent, "C", "d", "1"}); err != nil || refused(p.UserErrors) != "TOO_LARGE input.value" {
			t.Errorf("%v %+v", err, p)
		}
		if p, err := w.secrets.Set(w.ctx, SetInput{w.agent, "B", "d", strings.Repeat("x", MaxValue-1)}); err != nil || refused(p.UserErrors) != "TOO_LARGE input.value" {
			t.Errorf("%v %+v", err, p)
		}
		w.set(t, "B", strings.Repeat("x", MaxValue-2))
	})
}

func TestS1SecretOfDeletedAgent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.set(t, "TOKEN", "the-value")
		other := agenttest.New(w.ctx, t, w.agents).ID
		if p, err := w.secrets.Set(w.ctx, SetInput{other, "TOKEN", "d", "others-value"}); err != nil || len(p.UserErrors) > 0 {
			t.Fatal(err, p)
		}
		if p, err := w.agents.Delete(w.ctx, agent.DeleteInput{Agent: w.agent}); err != nil || len(p.UserErrors) > 0 {
			t.Fatal(err, p)
		}
		var rows int
		if err := w.db.SQL().QueryRowContext(w.ctx, "SELECT count(*) FROM secrets").Scan(&rows); err != nil || rows != 1 {
			t.Errorf("%d rows are left, %v", rows, err)
		}
		if p, err := w.secrets.Set(w.ctx, SetInput{w.agent, "TOKEN", "d", "v"}); err != nil || refused(p.UserErrors) != "NOT_FOUND input.agent" {
			t.Errorf("%v %+v", err, p)
		}
		w.agent = other
		if got := w.values(t); got != "map[TOKEN:others-value]" {
			t.Errorf("the other's: %s", got)
		}
	})
}

// TestTenancy: another organization's agent is like none.
func TestTenancy(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.set(t, "TOKEN", "the-value")
		v := keytest.Viewer(t, w.db)
		ctx := key.WithViewer(t.Context(), v)
		if p, err := w.secrets.Set(ctx, SetInput{w.agent, "TOKEN", "d", "v"}); err != nil || refused(p.UserErrors) != "NOT_FOUND input.agent" {
			t.Errorf("%v %+v", err, p)
		}
		if p, err := w.secrets.Delete(ctx, DeleteInput{w.agent, "TOKEN"}); err != nil || refused(p.UserErrors) != "NOT_FOUND input.agent" {
			t.Errorf("%v %+v", err, p)
		}
		found, err1 := w.secrets.OfAgents(ctx, v.Organization.ID, []string{w.agent})
		values, err2 := w.secrets.Values(ctx, v.Organization.ID, w.agent)
		if errors.Join(err1, err2) != nil || len(found)+len(values) > 0 {
			t.Errorf("%v %v: %v %v", err1, err2, found, values)
		}
		reader := key.WithViewer(t.Context(), keytest.Another(t, w.db, w.viewer, key.Computer, key.Management))
		_, err1 = w.secrets.Set(reader, SetInput{w.agent, "TOKEN", "d", "v"})
		_, err2 = w.secrets.Delete(reader, DeleteInput{w.agent, "TOKEN"})
		for _, err := range []error{err1, err2} {
			var problem *fault.Problem
			if !errors.As(err, &problem) || problem.Code != fault.Denied {
				t.Errorf("without TOOLING: %v", err)
			}
		}
	})
}

// exec changes rows behind the service's back.
func (w *world) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	err := w.db.InTx(w.ctx, func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.SQL().ExecContext(ctx, statement, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestS1SecretAtRest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		const value = "the-value-in-the-clear"
		w.set(t, "TOKEN", value)
		w.set(t, "OTHER", value)
		rows, err := sealedOf(w.ctx, w.db.Read(), w.viewer.Organization.ID, w.agent)
		if err != nil || len(rows) != 2 {
			t.Fatal(err, rows)
		}
		if bytes.Contains(rows[0].sealed, []byte(value[:6])) || bytes.Equal(rows[0].sealed, rows[1].sealed) || len(rows[0].sealed) != len(value)+overhead {
			t.Errorf("sealed as %q and %q", rows[0].sealed, rows[1].sealed)
		}
		// A value opens at its own place only.
		other := agenttest.New(w.ctx, t, w.agents).ID
		for column, to := range map[string]string{"name": "MOVED", "agent_id": other} {
			w.exec(t, "UPDATE secrets SET "+column+" = $1 WHERE name = 'TOKEN'", to)
			agentID := w.agent
			if column == "agent_id" {
				agentID = other
			}
			if v, err := w.secrets.Values(w.ctx, w.viewer.Organization.ID, agentID); err == nil || strings.Contains(err.Error(), value) {
				t.Errorf("moved to another %s it opens: %v %v", column, v, err)
			}
			back := map[string]string{"name": "TOKEN", "agent_id": w.agent}[column]
			w.exec(t, "UPDATE secrets SET "+column+" = $1 WHERE name IN ('TOKEN', 'MOVED')", back)
		}
		if got := w.values(t); got != "map[OTHER:"+value+" TOKEN:"+value+"]" {
			t.Errorf("values: %s", got)
		}
		w.exec(t, "UPDATE secrets SET sealed = $1 WHERE name = 'TOKEN'", append([]byte{1}, rows[0].sealed...))
		if v, err := w.secrets.Values(w.ctx, w.viewer.Organization.ID, w.agent); err == nil {
			t.Errorf("changed, it opens: %v", v)
		}
	})
}

// unlocked is another server on the same database, with the keys of a file's text.
func (w *world) unlocked(t *testing.T, text string) (*Service, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "given.key")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewService(w.db, w.agents)
	return s, s.Unlock(w.ctx, Source{Given: file})
}

func TestS1SecretKeyFile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		info, err := os.Stat(w.file)
		if err != nil || info.Mode() != 0o600 {
			t.Fatalf("%v %v", info, err)
		}
		made, err := os.ReadFile(w.file)
		if err != nil {
			t.Fatal(err)
		}
		w.set(t, "TOKEN", "the-value")
		again := NewService(w.db, w.agents)
		if err := again.Unlock(w.ctx, Source{File: w.file}); err != nil {
			t.Errorf("the same file: %v", err)
		}
		if now, err := os.ReadFile(w.file); err != nil || !bytes.Equal(now, made) {
			t.Errorf("the file was written again: %v", err)
		}
		// A file that is not there: made only where there are no secrets that it would have to open.
		missing := filepath.Join(t.TempDir(), KeyFile)
		if err := again.Unlock(w.ctx, Source{File: missing}); err == nil || !strings.Contains(err.Error(), missing+" is missing") || !strings.Contains(err.Error(), "--secrets-key") {
			t.Errorf("without its file: %v", err)
		}
		if _, err := os.Stat(missing); err == nil {
			t.Error("a key was made that opens nothing")
		}
		if err := again.Unlock(w.ctx, Source{Given: missing, File: w.file}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a file that was named: %v", err)
		}
		if _, err := w.unlocked(t, newKeyText()); err == nil || !strings.Contains(err.Error(), "does not open all") || strings.Contains(err.Error(), "the-value") {
			t.Errorf("another key: %v", err)
		}
		if _, err := w.unlocked(t, "# first a new one\n\n"+newKeyText()+string(made)); err != nil {
			t.Errorf("an older key behind a new one: %v", err)
		}
		// The key itself, in place of a file. One that is none is not repeated.
		if err := again.Unlock(w.ctx, Source{Given: strings.TrimSpace(string(made))}); err != nil {
			t.Errorf("the key itself: %v", err)
		}
		wrong := strings.TrimSpace(newKeyText())[1:]
		if err := again.Unlock(w.ctx, Source{Given: wrong}); err == nil || strings.Contains(err.Error(), wrong) || !strings.Contains(err.Error(), "--secrets-key") {
			t.Errorf("half a key: %v", err)
		}
	})
}

// Two servers that were started on an empty database, each with a key of its own: the second one to set a secret is refused.
func TestS1SecretTwoKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		other, err := w.unlocked(t, newKeyText())
		if err != nil {
			t.Fatal(err)
		}
		w.set(t, "TOKEN", "the-value")
		p, err := other.Set(w.ctx, SetInput{w.agent, "OTHER", "d", "the-value"})
		if err != nil || refused(p.UserErrors) != "NOT_CONFIGURED input.value secrets_key_differs" {
			t.Errorf("%v %+v", err, p)
		}
		if _, err := other.Values(w.ctx, w.viewer.Organization.ID, w.agent); !errors.Is(err, errUnknownKey) || !strings.Contains(err.Error(), "--secrets-key") {
			t.Errorf("opened with another key: %v", err)
		}
		if err := other.Run(w.ctx); err != nil { // it says so and leaves them alone
			t.Error(err)
		}
		if got := w.values(t); got != "map[TOKEN:the-value]" {
			t.Errorf("values: %s", got)
		}
	})
}

func TestS1SecretNewKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for i := range MaxSecrets {
			w.set(t, fmt.Sprintf("S%d", i), fmt.Sprintf("value-%d", i))
		}
		before := w.values(t)
		first := w.agent
		w.agent = agenttest.New(w.ctx, t, w.agents).ID
		for i := range MaxSecrets { // more than a batch
			w.set(t, fmt.Sprintf("S%d", i), "value")
		}
		old, err := os.ReadFile(w.file)
		if err != nil {
			t.Fatal(err)
		}
		fresh := newKeyText()
		both, err := w.unlocked(t, fresh+string(old))
		if err != nil {
			t.Fatal(err)
		}
		if err := both.Run(w.ctx); err != nil {
			t.Fatal(err)
		}
		var keys int
		if err := w.db.SQL().QueryRowContext(w.ctx, "SELECT count(DISTINCT key_id) FROM secrets").Scan(&keys); err != nil || keys != 1 {
			t.Errorf("%d keys, %v", keys, err)
		}
		if w.secrets, err = w.unlocked(t, fresh); err != nil {
			t.Fatalf("the new key alone: %v", err)
		}
		w.agent = first
		if after := w.values(t); after != before {
			t.Errorf("before %s\nafter  %s", before, after)
		}
		if _, err := w.unlocked(t, string(old)); err == nil {
			t.Error("the old key alone opens them")
		}
	})
}

func TestForget(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.set(t, "TOKEN", "the-value")
		if n, err := Forget(w.ctx, w.db, Source{File: w.file}); n != 0 || err != nil {
			t.Errorf("with its key %d are removed, %v", n, err)
		}
		missing := filepath.Join(t.TempDir(), "none.key")
		if n, err := Forget(w.ctx, w.db, Source{Given: missing, File: w.file}); err == nil {
			t.Errorf("with a file that is not there %d are removed", n)
		}
		if got := w.values(t); got != "map[TOKEN:the-value]" {
			t.Errorf("values: %s", got)
		}
		if n, err := Forget(w.ctx, w.db, Source{File: missing}); n != 1 || err != nil {
			t.Errorf("%d are removed, %v", n, err)
		}
		if _, err := w.unlocked(t, newKeyText()); err != nil {
			t.Errorf("then: %v", err)
		}
	})
}

func TestParseKeyring(t *testing.T) {
	t.Parallel()
	good := newKeyText()
	long := ""
	for range maxKeys + 1 {
		long += newKeyText()
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "there is no key"},
		"comments":      {"# no key\n\n", "there is no key"},
		"text":          {"my secret passphrase\n", "key 1 is not 32 bytes in base64"},
		"short":         {good + base64.StdEncoding.EncodeToString(make([]byte, 31)), "key 2 is not 32 bytes in base64"},
		"twice":         {good + good, "key 2 is there twice"},
		"too many":      {long, "more than 16 keys"},
		"no padding":    {strings.TrimRight(good, "=\n"), "key 1 is not"},
		"one":           {good, ""},
		"without a end": {strings.TrimSpace(good), ""},
		"Windows":       {"\r\n" + strings.TrimSpace(good) + "\r\n", ""},
	} {
		k, err := ParseKeyring(c.text)
		switch {
		case c.want == "" && (err != nil || len(k.IDs()) != 1 || len(k.IDs()[0]) != 16):
			t.Errorf("%s: %v %v", name, k, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "passphrase")):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzKeyring(f *testing.F) {
	f.Add(newKeyText() + "# old\n" + newKeyText())
	f.Add("AAAA\n")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKeyring(text)
		if err != nil {
			return
		}
		p := place{"org", "agent", "NAME"}
		id, sealed := k.seal(p, text)
		if value, err := k.open(p, id, sealed); err != nil || value != text {
			t.Fatalf("%q, %v", value, err)
		}
		p.name = "OTHER"
		if _, err := k.open(p, id, sealed); err == nil {
			t.Fatal("it opens at another place")
		}
	})
}

// A secret that is written into a log by accident does not show its value: nothing that is passed around has it with its name.
func TestSecretInLogs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		p := w.set(t, "TOKEN", "the-value")
		var logged bytes.Buffer
		log := slog.New(slog.NewTextHandler(&logged, nil))
		log.Info("x", "payload", p, "secret", p.Secret, "keys", fmt.Sprintf("%+v", w.secrets.keys.Load().IDs()))
		if strings.Contains(logged.String(), "the-value") {
			t.Errorf("logged: %s", logged.String())
		}
	})
}

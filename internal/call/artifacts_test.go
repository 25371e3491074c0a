package call_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/call/calltest"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// writes has a script of the source "#writes" write files into its folder of outputs, and end so.
func (w *world) writes(end runnertest.Exit, files map[string]string) {
	w.Fake.Add(runnertest.Program{
		Match: func(p *runnertest.Proc) bool { return string(p.Source) == "#writes\n" },
		Run: func(ctx context.Context, p *runnertest.Proc) runnertest.Exit {
			folder, _ := p.Env("ARTIFIC_OUTPUTS")
			for name, content := range files {
				p.WriteFile(folder+"/"+name, []byte(content))
			}
			if end.Code == -1 {
				<-ctx.Done()
			}
			return end
		},
	})
}

// kept are a call's artifacts, with their content types and sizes.
func (w *world) kept(t *testing.T, c *call.Call) string {
	t.Helper()
	found, err := w.Artifacts.OfCalls(w.ctx, c.OrganizationID, []string{c.ID})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, a := range found[c.ID] {
		all = append(all, fmt.Sprintf("%s %d %s", a.Name(), a.Size, a.ContentType))
	}
	return strings.Join(all, ", ")
}

func TestS2Art(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		writes := calltest.Package{Files: map[string]string{"main.py": "#writes\n"}}
		w.Publish(w.ctx, "writes", writes)
		w.Save(w.ctx, w.agent, "writes", "#writes\n", `{"type":"object"}`)
		files := map[string]string{"deck.pptx": "PK\x03\x04", "half\xe2\x82": ""}
		w.writes(runnertest.Exit{Code: 3}, files)
		id, _ := w.runWith(w.ctx, t, run.CreateInput{Agent: &w.agent, Tools: entries("script__*")})
		for _, name := range []string{"script__writes", "writes"} {
			c := w.Call(w.ctx, id, name, "")
			expect(t, c, call.Failed, "", "exit_code: 3\nstdout:\n\nstderr:\n\nfiles:\ndeck.pptx: kept as an artifact\nhalf\uFFFD\uFFFD: kept as an artifact\n")
			if got := w.kept(t, c); got != "deck.pptx 4 application/vnd.openxmlformats-officedocument.presentationml.presentation, half\uFFFD\uFFFD 0 application/octet-stream" {
				t.Errorf("kept are %s", got)
			}
			again := w.now(c)
			if len(again.LeftOnComputer) != 0 || again.Text != c.Text {
				t.Errorf("%+v", again)
			}
		}
		// A key without ARTIFACTS has all left on the computer, and reads no bytes.
		poor, _ := calltest.Another(w.ctx, t, d, w.v, key.Tooling, key.Computer)
		c := w.direct(poor, t, call.ToolCallInput{Name: "script__writes"})
		if w.kept(t, c) != "" || len(c.LeftOnComputer) != 2 || !strings.HasSuffix(c.Text, "files:\ndeck.pptx: left on the computer\nhalf\uFFFD\uFFFD: left on the computer\n") {
			t.Errorf("%q, kept %s", c.Text, w.kept(t, c))
		}
		w.reads(t, w.direct(w.ctx, t, call.ToolCallInput{Name: "script__writes"}), poor)
		w.bounds(t)
	})
}

// reads checks who may read an artifact's bytes.
func (w *world) reads(t *testing.T, c *call.Call, poor context.Context) {
	t.Helper()
	found, err := w.Artifacts.OfCalls(w.ctx, c.OrganizationID, []string{c.ID})
	if err != nil || len(found[c.ID]) != 2 {
		t.Fatal(found, err)
	}
	a := found[c.ID][0]
	all := func(int) bool { return true }
	content, err := w.Artifacts.Content(w.ctx, a, all)
	if err != nil || string(content) != "PK\x03\x04" {
		t.Errorf("%q %v", content, err)
	}
	if read, err := w.Artifacts.Read(w.ctx, a.ID); err != nil || read == nil || read.SHA256 != a.SHA256 || read.URL() != "/artifacts/"+a.ID {
		t.Errorf("%+v %v", read, err)
	}
	if _, err := w.Artifacts.Read(poor, a.ID); err == nil {
		t.Error("a key without ARTIFACTS reads it")
	}
	if _, err := w.Artifacts.Content(poor, a, all); err == nil {
		t.Error("a key without ARTIFACTS reads its bytes")
	}
	others, _ := calltest.Viewer(t, w.DB)
	if read, err := w.Artifacts.Read(others, a.ID); err != nil || read != nil {
		t.Errorf("another organization reads %v, %v", read, err)
	}
	if content, err := w.Artifacts.Content(w.ctx, a, func(int) bool { return false }); err != nil || content != nil {
		t.Errorf("past the bound: %q %v", content, err)
	}
}

// bounds checks how many files are kept, and how large.
func (w *world) bounds(t *testing.T) {
	t.Helper()
	large := string(bytes.Repeat([]byte("x"), 25<<20))
	files := map[string]string{"a_large": large, "b_too_large": large + "x"}
	for i := range 11 {
		files[fmt.Sprintf("c%02d", i)] = "x"
	}
	w.writes(runnertest.Exit{}, files)
	c := w.direct(w.ctx, t, call.ToolCallInput{Name: "script__writes"})
	if got := w.kept(t, c); strings.Count(got, ",") != 9 || !strings.HasPrefix(got, "a_large 26214400 text/plain") || !strings.Contains(got, "c08 1") || strings.Contains(got, "c09") {
		t.Errorf("kept are %s", got)
	}
	if got := strings.Join(c.LeftOnComputer, " "); got != "b_too_large c09 c10" {
		t.Errorf("left are %s", got)
	}
	w.writes(runnertest.Exit{Code: -1}, map[string]string{"before.txt": "x"})
	w.Publish(w.ctx, "slow", calltest.Package{Files: map[string]string{"main.py": "#writes\n"}, Timeout: 1})
	c = w.direct(w.ctx, t, call.ToolCallInput{Name: "script__slow"})
	expect(t, c, call.TimedOut, call.TimeLimit, "The script was stopped after 1 seconds.\nstdout:\n\nstderr:\n\nfiles:\nbefore.txt: kept as an artifact\n")
}

// TestAttachments: a run's files are on each of its computers.
func TestS2Attachments(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		w.Publish(w.ctx, "reads", fake("cat /workspace/报告 ñ😀.txt", "cat /workspace/b"))
		report, b, again, hidden, large := w.upload(t, "报告 ñ😀.txt", "figures\n"), w.upload(t, "b", "more\n"), w.upload(t, "b", "x"), w.upload(t, ".calls", "x"),
			w.upload(t, "large", string(make([]byte, 32<<20+1)))
		half := w.upload(t, "half", string(make([]byte, 32<<20)))
		other := w.upload(t, "other", string(make([]byte, 32<<20)))
		poor, _ := calltest.Another(w.ctx, t, d, w.v, key.Tooling, key.Computer)
		others, _ := calltest.Viewer(t, d)
		for _, c := range []struct {
			ctx  context.Context
			ids  []string
			want string
		}{
			{w.ctx, []string{report, "file_00000000000000000000000000", "x\x00"}, "NOT_FOUND input attachments 1, NOT_FOUND input attachments 2"},
			{w.ctx, []string{b, again}, "INVALID input attachments 1"}, {w.ctx, []string{b, b}, "INVALID input attachments 1"}, {w.ctx, []string{hidden}, "INVALID input attachments 0"},
			{w.ctx, []string{b, large}, "TOO_LARGE input attachments 1"}, {w.ctx, []string{half, other, b}, "TOO_LARGE input attachments"}, {poor, []string{b}, "DENIED input attachments"},
			{w.ctx, make([]string, 33), "TOO_LARGE input attachments"}, {others, []string{b}, "NOT_FOUND input attachments 0"}, {poor, nil, ""},
		} {
			if _, refused := w.runWith(c.ctx, t, run.CreateInput{Attachments: c.ids}); refused != c.want {
				t.Errorf("%s, want %s", refused, c.want)
			}
		}
		for _, agentID := range []*string{nil, &w.agent} {
			runID, refused := w.runWith(w.ctx, t, run.CreateInput{Agent: agentID, Tools: entries("script__reads"), Attachments: []string{report, b, half}})
			if refused != "" {
				t.Fatal(refused)
			}
			for range 2 {
				c := w.Call(w.ctx, runID, "script__reads", "")
				expect(t, c, call.Succeeded, "", "exit_code: 0\nstdout:\nfigures\nmore\nstderr:\n\n")
				if _, mode, uid, ok := w.Fake.File(runID, "/workspace/half"); !ok || mode != 0o644 || uid != 1000 {
					t.Errorf("mode %o of %d", mode, uid)
				}
				w.Fake.Lose(runID) // the next computer has them, too
			}
			found, err := w.Runs.Attachments(w.ctx, w.v.Organization.ID, []string{runID})
			if err != nil || len(found[runID]) != 3 || found[runID][0].ID != report || found[runID][0].Filename != "报告 ñ😀.txt" {
				t.Errorf("%v %v", found[runID], err)
			}
		}
	})
}

// upload writes an uploaded file.
func (w *world) upload(t *testing.T, name, content string) string {
	t.Helper()
	kept, err := w.Files.Keep(w.ctx, io.LimitReader(strings.NewReader(content), 1<<30), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	fileID := id.New(id.File)
	err = w.DB.InTx(w.ctx, func(ctx context.Context, tx *database.Tx) error {
		return tx.Ent().File.Create().SetID(fileID).SetOrganizationID(w.v.Organization.ID).SetKeyID(w.v.Key.ID).SetFilename(name).SetContentType("text/plain").
			SetSha256(kept.SHA256).SetSize(kept.Size).SetCreatedAt(database.Now()).Exec(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	return fileID
}

package call_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/call/calltest"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// seen is what a subscriber got.
type seen struct {
	out      map[call.OutputStream][]byte
	cursors  []event.Cursor
	finished *call.CallFinished
}

// follow reads a call's output to its end, and holds each chunk to the promises.
func follow(ctx context.Context, s *calltest.Server, org, id string, after *event.Cursor, offsets map[call.OutputStream]int64) (*seen, error) {
	var from *string
	if after != nil {
		text := string(*after)
		from = &text
	}
	events, err := s.Calls.Watch(ctx, org, id, from)
	if err != nil {
		return nil, err
	}
	got := &seen{out: map[call.OutputStream][]byte{}}
	for e := range events {
		switch e := e.(type) {
		case *call.OutputChunk:
			if want := offsets[e.Stream] + int64(len(got.out[e.Stream])); e.Offset != want || e.CallID != id || got.finished != nil || e.At.IsZero() {
				return nil, fmt.Errorf("a chunk at %d, want %d: %+v", e.Offset, want, e)
			}
			got.out[e.Stream] = append(got.out[e.Stream], e.Data...)
			got.cursors = append(got.cursors, e.Cursor)
		case *call.CallFinished:
			got.finished = e
		default:
			return nil, fmt.Errorf("got %T %+v", e, e)
		}
	}
	return got, ctx.Err()
}

// proves compares what was seen with what the call says of it.
func (s *seen) proves() error {
	if s.finished == nil {
		return errors.New("the end did not come")
	}
	o := s.finished.Call.Output
	for stream, want := range map[call.OutputStream]string{call.Stdout: *o.StdoutSha256, call.Stderr: *o.StderrSha256} {
		if sum := sha256.Sum256(s.out[stream]); hex.EncodeToString(sum[:]) != want {
			return fmt.Errorf("%s: %d bytes with another hash", stream, len(s.out[stream]))
		}
	}
	if int64(len(s.out[call.Stdout])) != o.StdoutBytes || int64(len(s.out[call.Stderr])) != o.StderrBytes || !s.finished.Call.Status.Ended() {
		return fmt.Errorf("got %d and %d bytes, want %+v", len(s.out[call.Stdout]), len(s.out[call.Stderr]), o)
	}
	return nil
}

func TestWatch(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		fake := newFake()
		gate := make(chan struct{})
		fake.Add(runnertest.Program{Match: runnertest.Source("noisy"), Run: writeNoise(2<<20, gate)})
		w := newWorld(t, d, calltest.Options{Runner: fake})
		w.Save(w.ctx, w.agent, "noisy", "noisy", "")
		r, org := w.Run(w.ctx, w.agent), w.v.Organization.ID
		c := w.Begin(w.ctx, r, "script_run", `{"name":"noisy"}`)
		var wait sync.WaitGroup
		watch := func() {
			wait.Go(func() {
				got, err := follow(w.ctx, w.Server, org, c.ID, nil, nil)
				if err == nil {
					err = got.proves()
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		watch() // perhaps before it runs
		half := w.Until(w.ctx, c, func(c *call.Call) bool { return c.Output.StdoutBytes > 100_000 })
		if half.Status != call.Running || half.Output.URL != nil || half.Output.StdoutSha256 != nil {
			t.Errorf("half way: %+v", half)
		}
		watch()
		close(gate)
		wait.Wait()
		ended := w.Ended(w.ctx, c)
		if !ended.Truncated || ended.Status != call.Succeeded {
			t.Errorf("ended: %s, truncated %v", ended.Status, ended.Truncated)
		}

		all, err := follow(w.ctx, w.Server, org, c.ID, nil, nil)
		if err != nil || all.proves() != nil {
			t.Fatal(err)
		}
		// Go on behind a chunk in the middle; then behind the end.
		middle := len(all.cursors) / 2
		rest, err := follow(w.ctx, w.Server, org, c.ID, &all.cursors[middle], all.before(w, org, c.ID, middle))
		if err != nil || rest.finished == nil || len(rest.cursors) != len(all.cursors)-middle-1 {
			t.Errorf("from the middle: %v", err)
		}
		if none, err := follow(w.ctx, w.Server, org, c.ID, &all.finished.Cursor, nil); err != nil || none.finished != nil || len(none.cursors) != 0 {
			t.Errorf("behind the end: %+v, %v", none, err)
		}
		for stream, want := range all.out {
			_, raw, err := w.Calls.Raw(w.ctx, org, c.ID, stream, 0)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(raw); err != nil || string(b) != string(want) {
				t.Errorf("raw %s: %d bytes, %v", stream, len(b), err)
			}
		}
	})
}

// before are the offsets behind the chunk with this index.
func (s *seen) before(w *world, org, id string, index int) map[call.OutputStream]int64 {
	offsets := map[call.OutputStream]int64{}
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	events, err := w.Calls.Watch(ctx, org, id, nil)
	if err != nil {
		return nil
	}
	for i := 0; i <= index; i++ {
		c := (<-events).(*call.OutputChunk)
		offsets[c.Stream] = c.Offset + int64(len(c.Data))
	}
	return offsets
}

func writeNoise(size int, gate <-chan struct{}) func(context.Context, *runnertest.Proc) runnertest.Exit {
	return func(ctx context.Context, p *runnertest.Proc) runnertest.Exit {
		r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
		for written := 0; written < size; {
			b := make([]byte, 1+r.IntN(40_000))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			out := p.Stdout
			if r.IntN(2) == 0 {
				out = p.Stderr
			}
			if written < size/2 && written+len(b) >= size/2 {
				select {
				case <-gate:
				case <-ctx.Done():
				}
			}
			n, err := out.Write(b)
			if written += n; err != nil {
				break
			}
		}
		return runnertest.Exit{}
	}
}

func TestWatchOfWhatNeverRan(t *testing.T) {
	t.Parallel()
	d := databasetest.New(t, database.SQLite)
	w := newWorld(t, d, calltest.Options{})
	w.Save(w.ctx, w.agent, "hang", "#fake: wait go\n#fake: hang\n", "")
	r, org := w.Run(w.ctx, w.agent), w.v.Organization.ID
	refused := w.Call(w.ctx, r, "nope", "")
	got, err := follow(w.ctx, w.Server, org, refused.ID, nil, nil)
	if err != nil || got.finished == nil || got.finished.Call.Status != call.Refused || len(got.cursors) != 0 {
		t.Errorf("refused: %+v, %v", got, err)
	}
	w.Begin(w.ctx, r, "script_run", `{"name":"hang"}`)
	w.Arrived("go")
	waits := w.Begin(w.ctx, r, "script_run", `{"name":"plain"}`)
	ended := make(chan *seen)
	go func() {
		got, err := follow(w.ctx, w.Server, org, waits.ID, nil, nil)
		if err != nil {
			t.Error(err)
		}
		ended <- got
	}()
	select {
	case <-ended:
		t.Fatal("the stream of a call that waits has ended")
	case <-time.After(50 * time.Millisecond):
	}
	w.cancel(t, waits)
	if got := <-ended; got == nil || got.finished == nil || got.finished.Call.Status != call.Cancelled {
		t.Errorf("cancelled: %+v", got)
	}
	// Problems before the first event.
	other, v := calltest.Viewer(t, d)
	bad := "nonsense"
	foreign := string(event.NewCursor(event.OutputTopic(waits.ID), event.Position{Epoch: "1", Offset: 1}))
	for name, c := range map[string]struct {
		org, id string
		after   *string
		want    fault.ProblemCode
	}{
		"unknown":        {org, "call_x", nil, fault.Missing},
		"another's":      {v.Organization.ID, refused.ID, nil, fault.Missing},
		"bad cursor":     {org, refused.ID, &bad, fault.BadCursor},
		"another call's": {org, refused.ID, &foreign, fault.BadCursor},
	} {
		_, err := w.Calls.Watch(other, c.org, c.id, c.after)
		if p, ok := errors.AsType[*fault.Problem](err); !ok || p.Code != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

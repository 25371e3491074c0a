package run

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

func take(t *testing.T, turns homeTurns) *homeTurn {
	t.Helper()
	turn, err := turns.take(t.Context(), packWait)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// TestHomeTurns: no more homes are at once than there are turns, the others come in their order, and the time of each begins with its turn.
func TestHomeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := make(homeTurns, 2)
		const work = homeTime - time.Second
		began := time.Now()
		var mu sync.Mutex
		var ended []int
		for i := range 7 {
			go func() {
				turn, err := turns.take(t.Context(), packWait)
				if err != nil {
					t.Error(err)
					return
				}
				defer turn.done()
				for begun := time.Now(); time.Since(begun) < work; turn.moved() {
					time.Sleep(time.Second) // of the bubble
				}
				if turn.ctx.Err() != nil {
					t.Errorf("home %d: %v", i, context.Cause(turn.ctx))
				}
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, i/2)
			}()
			synctest.Wait()
			if len(turns) > 2 {
				t.Errorf("%d at once", len(turns))
			}
		}
		time.Sleep(4 * homeTime)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(ended) != 7 || time.Since(began) < 4*work {
			t.Errorf("%v have ended", ended)
		}
		for i, pair := range ended {
			if pair != i/2 {
				t.Errorf("not in their order: %v", ended)
			}
		}
		if len(turns) != 0 {
			t.Error("a turn has not ended")
		}
	})
}

// TestHomeTurnEnds: a turn ends where nothing moves, and where it takes too long; the computer is to blame then. Who waits for too long has none.
func TestHomeTurnEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := make(homeTurns, 1)
		began := time.Now()
		still := take(t, turns)
		time.Sleep(homeStill / 2)
		if _, err := io.ReadAll(still.reader(strings.NewReader("moves"))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(homeStill / 2)
		if _, err := still.writer(io.Discard).Write([]byte("moves")); err != nil {
			t.Fatal(err)
		}
		<-still.ctx.Done()
		if d := time.Since(began); d != 2*homeStill {
			t.Errorf("it ended after %s", d)
		}
		if err := still.explain(still.ctx.Err()); !errors.Is(err, errHomeStill) || !errors.Is(err, runner.ErrUnavailable) || !isRunners(err) {
			t.Errorf("nothing moved: %v", err)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := turns.take(gone, packWait); !errors.Is(err, context.Canceled) {
			t.Errorf("who went away: %v", err)
		}
		if _, err := turns.take(t.Context(), unpackWait); !errors.Is(err, errHomeWait) || !isRunners(err) {
			t.Errorf("who waited for too long: %v", err)
		}
		still.done()
		long := take(t, turns)
		defer long.done()
		began = time.Now()
		for time.Since(began) < homeTime-time.Second {
			time.Sleep(time.Second)
			long.moved()
		}
		<-long.ctx.Done()
		if err := long.explain(long.ctx.Err()); time.Since(began) != homeTime || !errors.Is(err, errHomeLate) || !isRunners(err) {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if long.explain(nil) != nil {
			t.Error("what went well is an error")
		}
	})
}

package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

const (
	// homeTime bounds how long a home is packed or unpacked, from when it is its turn. The runner ends a computer that does one thing for a minute.
	homeTime = 50 * time.Second
	// homeStill is how long nothing of a home may move in its turn: others wait.
	homeStill = 20 * time.Second
	// packWait and unpackWait bound how long one waits for its turn. What is not packed is lost; who waits for what is unpacked is a call, which can be made again.
	packWait   = 5 * time.Minute
	unpackWait = 2 * time.Minute
)

// Why a home's turn ended early, or did not come.
var (
	errHomeLate  = fmt.Errorf("the home took longer than %s", homeTime)
	errHomeStill = fmt.Errorf("nothing of the home moved for %s", homeStill)
	errHomeWait  = errors.New("other homes were not done in time")
)

// homeTurns hands out turns: as many homes are at once as there are processors, since that is work, and each has its time then. It has one for each turn
// that is taken.
type homeTurns chan struct{}

func newHomeTurns() homeTurns { return make(homeTurns, runtime.GOMAXPROCS(0)) }

// homeTurn is one home's turn. Its context ends when the turn has taken too long, or nothing has moved for too long.
type homeTurn struct {
	ctx   context.Context
	still *time.Timer
	done  func() // ends the turn; once
}

// take waits for a turn, in the order of those who do, for so long at most.
func (t homeTurns) take(ctx context.Context, wait time.Duration) (*homeTurn, error) {
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-late.C:
		return nil, fmt.Errorf("%w: %w, within %s", runner.ErrUnavailable, errHomeWait, wait)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ctx, stop := context.WithTimeoutCause(ctx, homeTime, errHomeLate)
	still := time.AfterFunc(homeStill, func() { cancel(errHomeStill) })
	return &homeTurn{ctx, still, func() { still.Stop(); stop(); cancel(nil); <-t }}, nil
}

// moved says that something has.
func (t *homeTurn) moved() { t.still.Reset(homeStill) }

// explain says of an error whether the turn's end is the reason, for which the computer is to blame.
func (t *homeTurn) explain(err error) error {
	if cause := context.Cause(t.ctx); err != nil && (errors.Is(cause, errHomeLate) || errors.Is(cause, errHomeStill)) {
		return fmt.Errorf("%w: %w: %w", runner.ErrUnavailable, cause, err)
	}
	return err
}

// reader and writer are r and w, whose bytes move the home.
func (t *homeTurn) reader(r io.Reader) io.Reader { return movedReader{r, t} }
func (t *homeTurn) writer(w io.Writer) io.Writer { return movedWriter{w, t} }

type movedReader struct {
	io.Reader
	turn *homeTurn
}

func (r movedReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.turn.moved()
	return n, err
}

type movedWriter struct {
	io.Writer
	turn *homeTurn
}

func (w movedWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.turn.moved()
	return n, err
}

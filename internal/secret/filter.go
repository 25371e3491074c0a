package secret

import (
	"sync"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/output"
)

// MaxWait is how long bytes that may begin a value wait for the next byte, where nobody says otherwise. Without one they are let out.
const MaxWait = 20 * time.Millisecond

// Filter masks a program's output on its way: it has the signature of output.Writer's Write, and calls that. Only bytes that may begin a
// value wait. Write and Close are called from one goroutine; Close is needed, and ends the filter's timer.
type Filter struct {
	write func(output.Stream, []byte) error
	wait  time.Duration

	mu      sync.Mutex
	streams [2]masker // of standard output and standard error
	due     [2]time.Time
	timer   *time.Timer
	out     []byte
	closed  bool
}

// NewFilter makes the filter of a call. The mask may be nil: then everything is passed on as it is. A wait of 0 is MaxWait.
func NewFilter(m *Mask, wait time.Duration, write func(output.Stream, []byte) error) *Filter {
	if wait == 0 {
		wait = MaxWait
	}
	return &Filter{write: write, wait: wait, streams: [2]masker{{mask: m}, {mask: m}}}
}

// Write takes what the program wrote, in the order of arrival; p is the caller's again when it returns.
func (f *Filter) Write(stream output.Stream, p []byte) error {
	i := stream - output.Stdout
	if f.streams[i].mask == nil {
		return f.write(stream, p)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out = f.streams[i].write(f.out[:0], p)
	if f.streams[i].waiting() > 0 {
		f.due[i] = time.Now().Add(f.wait)
		if f.timer == nil {
			f.timer = time.AfterFunc(f.wait, f.tick)
		}
	}
	return f.pass(stream)
}

// pass writes what is certain.
func (f *Filter) pass(stream output.Stream) error {
	if len(f.out) == 0 {
		return nil
	}
	return f.write(stream, f.out)
}

// tick lets out what has waited for long enough, and comes again for what has not.
func (f *Filter) tick() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	now, next := time.Now(), time.Duration(0)
	for i := range f.streams {
		if f.streams[i].waiting() == 0 {
			continue
		}
		if left := f.due[i].Sub(now); left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		f.out = f.streams[i].release(f.out[:0])
		_ = f.pass(output.Stdout + output.Stream(i)) // a writer that has ended says so to the program's next write
	}
	if f.timer = nil; next > 0 {
		f.timer = time.AfterFunc(next, f.tick)
	}
}

// Close lets out what waits: the program has ended.
func (f *Filter) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	if f.closed = true; f.timer != nil {
		f.timer.Stop()
	}
	for i := range f.streams {
		if f.streams[i].waiting() > 0 {
			f.out = f.streams[i].release(f.out[:0])
			if err := f.pass(output.Stdout + output.Stream(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

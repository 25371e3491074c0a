package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// computer is the server's side of one computer.
type computer struct {
	link *link
	spec Spec
	// isolation is what all calls have in common; set before the computer is anyone's.
	isolation *Isolation
	// confinement is that of its sandbox's process, as it was made.
	confinement *Confinement
	turn        chan struct{} // holds one: whoever does a call or changes files
	once        sync.Once
	why         error // set before done is closed
	done        chan struct{}
}

var _ Computer = (*computer)(nil)

func (c *computer) ID() string            { return c.spec.ID }
func (c *computer) Done() <-chan struct{} { return c.done }

// end marks the computer as gone.
func (c *computer) end(why error) {
	c.once.Do(func() {
		c.link.drop(c)
		c.why = why
		close(c.done)
	})
}

// awaitEnd waits until a computer that is being ended is gone, if that is soon.
func (c *computer) awaitEnd() {
	t := time.NewTimer(endTime)
	defer t.Stop()
	select {
	case <-c.done:
	case <-t.C:
	}
}

// take waits for the computer's turn, in order of coming.
func (c *computer) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.turn <- struct{}{}:
	case <-c.done:
		return c.why
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-c.done:
		<-c.turn
		return c.why
	default:
		return nil
	}
}

// Files implements Computer.
func (c *computer) Files(ctx context.Context, changes []FileChange) (FileReport, error) {
	if err := CheckFiles(changes); err != nil {
		return FileReport{}, err
	}
	if err := c.take(ctx); err != nil {
		return FileReport{}, err
	}
	defer func() { <-c.turn }()
	resp, err := c.bulk(ctx, opFiles, filesPayload(changes))
	if err != nil {
		return FileReport{}, err
	}
	return FileReport{Removed: resp.Removed}, c.fault(&resp, changes)
}

// bulk sends a request with its payload. Once begun, changes are seen to their end: a computer whose files are half made would be worse than the wait.
func (c *computer) bulk(ctx context.Context, o op, p *payload) (response, error) {
	read, write, err := bulkPipe()
	if err != nil {
		return response{}, err
	}
	defer write.Close()
	var fed sync.WaitGroup
	defer fed.Wait()
	defer write.Close()
	fed.Go(func() { _, _ = p.pieces.WriteTo(write) })
	resp, err := c.link.ask(context.WithoutCancel(ctx), request{Op: o, Computer: c.spec.ID, Length: p.length}, read)
	read.Close()
	return resp, err
}

// fault is a response's error in this computer's words.
func (c *computer) fault(r *response, changes []FileChange) error {
	if r.Fault == faultFile && r.Index < len(changes) {
		ch := changes[r.Index]
		return &FileError{Index: r.Index, Op: ch.Op, Path: ch.Path, Full: r.Full, Message: r.Message}
	}
	err := r.err()
	if errors.Is(err, ErrLost) {
		select {
		case <-c.done: // closed by us, perhaps
			return c.why
		default:
		}
	}
	return err
}

// Call implements Computer.
func (c *computer) Call(ctx context.Context, call Call, sink Sink) (Result, error) {
	if err := CheckCall(call); err != nil {
		return Result{}, err
	}
	if err := c.take(ctx); err != nil {
		return Result{}, err
	}
	defer func() { <-c.turn }()
	p := callPayload(call)
	pipes, err := newPipes()
	if err != nil {
		return Result{}, err
	}
	defer pipes.close()
	// Writers and readers end when their pipes do: when all is done inside, or by pipes.close.
	pipes.wg.Go(func() { _, _ = p.pieces.WriteTo(pipes.payload); pipes.payload.Close() })
	pipes.wg.Go(func() { _, _ = pipes.stdin.Write(call.Stdin); pipes.stdin.Close() })
	seq, answer, err := c.link.post(request{Op: opCall, Computer: c.spec.ID, Length: p.length, Timeout: call.Timeout}, pipes.theirs...)
	closeAll(pipes.theirs)
	if err != nil {
		return Result{}, err
	}
	defer c.link.forget(seq)
	return c.follow(ctx, call, sink, pipes, seq, answer)
}

// follow gives output to the sink until the streams have ended and the answer is there.
func (c *computer) follow(ctx context.Context, call Call, sink Sink, pipes *pipes, seq uint64, answer chan response) (Result, error) {
	// Cancelling must not wait for a sink that takes its time.
	cancel := func() {
		_ = c.link.wire.sendJSON(request{Op: opCancel, Computer: c.spec.ID, Seq: seq})
	}
	var cancelOnce sync.Once
	stop := context.AfterFunc(ctx, func() { cancelOnce.Do(cancel) })
	defer stop()
	pipes.read(Stdout, pipes.stdout)
	pipes.read(Stderr, pipes.stderr)
	var resp *response
	var sinkErr error
	gone := c.link.gone
	for open := 2; open > 0 || resp == nil; {
		select {
		case ch := <-pipes.chunks:
			if ch.end {
				open--
				continue
			}
			if sinkErr == nil {
				if sinkErr = sink.Write(ch.stream, ch.data); sinkErr != nil {
					cancelOnce.Do(cancel)
				}
			}
			ch.taken <- struct{}{}
		case r := <-answer:
			resp, answer = &r, nil
			pipes.hurry()
		case <-gone:
			gone = nil
			select {
			case r := <-answer:
				resp = &r
			default:
				resp = &response{Fault: faultLost}
			}
			answer = nil
			pipes.hurry()
		}
	}
	if resp.Ending { // who calls next sees that it is gone, and takes another one
		c.awaitEnd()
	}
	return c.conclude(call, resp, sinkErr)
}

// conclude is what a call's answer means, where its output went to a sink that may have failed.
func (c *computer) conclude(call Call, resp *response, sinkErr error) (Result, error) {
	isolation := c.isolation.ofCall(call, resp.Remaining)
	switch err := c.fault(resp, call.Files); {
	case sinkErr != nil:
		res := Result{Isolation: isolation}
		if resp.Result != nil {
			res = *resp.Result
			res.Isolation = isolation
		}
		return res, fmt.Errorf("%w: %w", ErrSink, sinkErr)
	case errors.Is(err, ErrLost) || errors.Is(err, ErrClosed):
		return Result{Isolation: isolation}, err
	case err != nil:
		return Result{}, err
	case resp.Result == nil:
		return Result{Isolation: isolation}, ErrLost
	}
	resp.Result.Isolation = isolation
	return *resp.Result, nil
}

// Processes implements Computer.
func (c *computer) Processes(ctx context.Context) ([]ProcessInfo, error) {
	select {
	case <-c.done:
		return nil, c.why
	default:
	}
	resp, err := c.link.ask(ctx, request{Op: opProcesses, Computer: c.spec.ID})
	if err != nil {
		return nil, err
	}
	return resp.Processes, c.fault(&resp, nil)
}

// Close implements Computer.
func (c *computer) Close(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	default:
	}
	_, err := c.link.ask(ctx, request{Op: opClose, Computer: c.spec.ID})
	if err != nil && !errors.Is(err, ErrLost) {
		return err
	}
	c.end(ErrClosed)
	return nil
}

// pipes are a call's four, our ends and theirs.
type pipes struct {
	payload, stdin, stdout, stderr *os.File
	theirs                         []*os.File // stdin, stdout, stderr, payload
	chunks                         chan chunk
	stop                           chan struct{}
	ended                          atomic.Bool // everything inside has
	wg                             sync.WaitGroup
}

type chunk struct {
	stream Stream
	data   []byte
	end    bool
	taken  chan struct{}
}

// newPipes makes them. Only our ends are non-blocking: programs expect streams that are not.
func newPipes() (*pipes, error) {
	p := &pipes{chunks: make(chan chunk), stop: make(chan struct{})}
	for _, ours := range []**os.File{&p.stdin, &p.stdout, &p.stderr, &p.payload} { // the three come in their own places
		mine, other, err := halfPipe(ours == &p.stdin || ours == &p.payload)
		if err != nil {
			p.close()
			return nil, err
		}
		*ours = mine
		p.theirs = append(p.theirs, other)
		if ours != &p.payload { // the program, which is not root, may open it again by its name, as /dev/stdin
			if err := unix.Fchmod(rawFd(other), 0o666); err != nil {
				p.close()
				return nil, err
			}
		}
	}
	grow(p.payload)
	return p, nil
}

// halfPipe makes a pipe of which we have one end, for writing or for reading.
func halfPipe(writes bool) (mine, other *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	m, o := fds[0], fds[1]
	if writes {
		m, o = fds[1], fds[0]
	}
	err = unix.SetNonblock(m, true)
	mine, other = os.NewFile(uintptr(m), "pipe"), os.NewFile(uintptr(o), "pipe")
	if err != nil {
		return nil, nil, errors.Join(err, mine.Close(), other.Close())
	}
	return mine, other, nil
}

func bulkPipe() (read, write *os.File, err error) {
	write, read, err = halfPipe(true)
	if err == nil {
		grow(write)
	}
	return read, write, err
}

// grow gives a pipe for bulk more room, where it may have it.
func grow(f *os.File) {
	_, _ = unix.FcntlInt(uintptr(rawFd(f)), unix.F_SETPIPE_SZ, 1<<20)
}

// read sends what comes from a stream, one chunk at a time, and its end.
func (p *pipes) read(s Stream, f *os.File) {
	p.wg.Go(func() {
		b := make([]byte, MaxChunkBytes)
		taken := make(chan struct{}, 1)
		for {
			if p.ended.Load() { // a sink may have taken its time since
				_ = f.SetReadDeadline(time.Now().Add(lastReads))
			}
			n, err := f.Read(b)
			if n > 0 {
				select {
				case p.chunks <- chunk{stream: s, data: b[:n], taken: taken}:
				case <-p.stop:
					return
				}
				select {
				case <-taken:
				case <-p.stop:
					return
				}
			}
			if err != nil {
				select {
				case p.chunks <- chunk{stream: s, end: true}:
				case <-p.stop:
				}
				return
			}
		}
	})
}

// endTime bounds how long a call's answer waits for its computer's end.
const endTime = 5 * time.Second

// lastReads bounds a read once everything inside has ended: what is in a pipe is there at once, and then its end, unless the other end is held by
// nobody, on its way through a socket.
const lastReads = 250 * time.Millisecond

func (p *pipes) hurry() {
	p.ended.Store(true)
	for _, f := range []*os.File{p.stdout, p.stderr} {
		_ = f.SetReadDeadline(time.Now().Add(lastReads))
	}
}

// close ends readers and writers and waits for them.
func (p *pipes) close() {
	close(p.stop)
	for _, f := range []*os.File{p.payload, p.stdin, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
	closeAll(p.theirs)
	p.wg.Wait()
}

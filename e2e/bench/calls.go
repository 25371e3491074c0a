package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/runner"
)

const (
	firstPairs = 12
	warmPairs  = 100

	firstBar       = 1.25
	toolCallBar    = 1
	firstOutputBar = 1
)

// firstCalls compares the first call of a run, from request to answer, with a bare `runsc run` of the same program on the same root: on a computer
// that waits, as servers have some, and on one that is made for it.
func (b *bench) firstCalls(ctx context.Context) (rows []row, err error) {
	bare, closeBare, err := b.bares(hello.source, b.image)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeBare()) }()
	var waiting, made, reference sample
	for range 1 + firstPairs {
		for _, ours := range []struct {
			server *served
			times  *sample
		}{{b.server, &waiting}, {b.bootsAll, &made}} {
			if err := b.firstCall(ctx, ours.server, ours.times); err != nil {
				return nil, err
			}
		}
		if err := quiet(ctx); err != nil {
			return nil, err
		}
		if err := reference.timed(func() error { return bareRun(ctx, bare[0]) }); err != nil {
			return nil, err
		}
	}
	waiting, made, reference = waiting[1:], made[1:], reference[1:] // the first round warms caches
	return []row{
		pairs("first call of a run, a computer waits for it / bare runsc run, p50", waiting, reference, firstBar),
		pairs("the same, its computer is made for it", made, reference, firstBar),
	}, nil
}

func (b *bench) firstCall(ctx context.Context, s *served, times *sample) error {
	run, err := s.newRun(ctx, hello)
	if err != nil {
		return err
	}
	if err := quiet(ctx); err != nil {
		return err
	}
	if err := times.timed(func() error { return s.callHello(ctx, run) }); err != nil {
		return err
	}
	return s.finish(ctx, run)
}

// toolCall compares a further call of a run, from request to answer, with the host's own python3.
func (b *bench) toolCall(ctx context.Context) ([]row, error) {
	run, err := b.server.newRun(ctx, hello)
	if err != nil {
		return nil, err
	}
	if err := b.server.callHello(ctx, run); err != nil { // takes a computer
		return nil, err
	}
	if err := quiet(ctx); err != nil {
		return nil, err
	}
	var ours, reference sample
	for range warmPairs {
		if err := ours.timed(func() error { return b.server.callHello(ctx, run) }); err != nil {
			return nil, err
		}
		if err := reference.timed(func() error { return says(native(ctx, b.python, "-c", hello.source), hello.prints) }); err != nil {
			return nil, err
		}
	}
	return []row{
		pairs("GraphQL: toolCall in a warm run, request to answer / native python3 -c, p50", ours, reference, toolCallBar),
		ratio("the same, p99", ours.ms(.99), reference.ms(.99), 0, "ms"),
	}, b.server.finish(ctx, run)
}

// firstOutput compares the time from a call's request to the first byte of its output at a WebSocket's subscriber, whose socket is open, with that from
// the start of the host's own python3 to its first byte.
func (b *bench) firstOutput(ctx context.Context) ([]row, error) {
	run, err := b.server.newRun(ctx, first)
	if err != nil {
		return nil, err
	}
	socket, err := b.server.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	var ours, reference sample
	for range 1 + warmPairs/2 {
		var text string
		var rest func() error
		err := ours.timed(func() (err error) {
			rest, err = b.firstChunk(ctx, socket, run, &text)
			return err
		})
		if err == nil {
			err = rest()
		}
		if err == nil && text != first.prints {
			err = fmt.Errorf("the first output is %q", text)
		}
		if err == nil {
			err = firstLine(ctx, b.python, &reference)
		}
		if err != nil {
			return nil, err
		}
	}
	return []row{
		pairs("GraphQL: first output byte at a WebSocket's subscriber / of native python3 -c, p50", ours[1:], reference[1:], firstOutputBar),
	}, b.server.finish(ctx, run)
}

// firstLine adds the time from an interpreter's start to its first line.
func firstLine(ctx context.Context, python string, s *sample) error {
	cmd := native(ctx, python, "-c", first.source)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	line := ""
	err = s.timed(func() error {
		err := cmd.Start()
		if err == nil {
			line, err = bufio.NewReader(out).ReadString('\n')
		}
		return err
	})
	if err == nil && line != first.prints {
		err = fmt.Errorf("python3 printed %q", line)
	}
	if cmd.Process != nil {
		err = errors.Join(err, cmd.Wait())
	}
	return err
}

// call makes a program a runner's call.
func (p program) call(interpreter string) runner.Call {
	return runner.Call{ID: p.name, Argv: []string{interpreter, "/workspace/" + p.name}, Env: environment, Dir: "/workspace", Timeout: callTime,
		Files: []runner.FileChange{{Op: runner.FileWrite, Path: "/workspace/" + p.name, Mode: 0o444, Content: []byte(p.source)}}}
}

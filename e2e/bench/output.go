package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

const (
	delayRounds  = 4
	streamRounds = 3

	// delayBar is in milliseconds.
	delayBar = 50
)

// outputEvent is an event of callOutput, as far as it is read here.
type outputEvent struct {
	CallOutput struct {
		Kind string `json:"__typename"`
		Text string
		Data []byte
		Call struct{ Status string }
	}
}

// follow reads what a call prints, from its start to its end, and hands each event on.
func (b *bench) follow(ctx context.Context, call, fields string, take func(outputEvent)) error {
	s, err := b.server.Subscribe(ctx, `subscription($call: ID!) { callOutput(call: $call) { __typename
	  ... on OutputChunk { `+fields+` }
	  ... on CallFinished { call { status } } } }`, map[string]string{"call": call})
	if err != nil {
		return err
	}
	defer s.Close()
	status := ""
	for {
		var e outputEvent
		switch err := s.Next(&e); {
		case errors.Is(err, io.EOF) && status == "SUCCEEDED":
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the call is %q", status)
		case err != nil:
			return err
		}
		status = e.CallOutput.Call.Status
		take(e)
	}
}

// delay compares the time from print to a WebSocket's subscriber with that from print to the end of a pipe behind cat.
func (b *bench) delay(ctx context.Context) ([]row, error) {
	run, err := b.newRun(ctx, "clock")
	if err != nil {
		return nil, err
	}
	var ours, reference sample
	for range delayRounds {
		call, err := b.begin(ctx, run, "clock")
		if err != nil {
			return nil, err
		}
		err = b.follow(ctx, call, "text", func(e outputEvent) { ours.since(time.Now(), e.CallOutput.Text) })
		if err != nil {
			return nil, err
		}
		if err := b.readByCat(ctx, &reference); err != nil {
			return nil, err
		}
	}
	if len(ours) != delayRounds*clockLines || len(reference) != len(ours) {
		return nil, fmt.Errorf("%d and %d lines instead of %d", len(ours), len(reference), delayRounds*clockLines)
	}
	return []row{
		more("print to a WebSocket's subscriber / to a pipe read by cat, p50", ours.ms(.5), reference.ms(.5), delayBar),
		more("the same, p99", ours.ms(.99), reference.ms(.99), delayBar),
	}, b.finish(ctx, run)
}

// since adds how long ago each line of the text says that it was printed.
func (s *sample) since(now time.Time, text string) {
	for line := range strings.Lines(text) {
		if at, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil {
			*s = append(*s, now.Sub(time.Unix(0, at)))
		}
	}
}

// readByCat runs clock on the host, `python3 -c … | cat`, and reads what cat writes.
func (b *bench) readByCat(ctx context.Context, s *sample) error {
	return throughCat(ctx, exec.CommandContext(ctx, b.python, "-c", clock), func(r io.Reader) error {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			s.since(time.Now(), lines.Text())
		}
		return lines.Err()
	})
}

// throughCat runs cmd with its output going through a pipe to cat, and reads what cat writes.
func throughCat(ctx context.Context, cmd *exec.Cmd, read func(io.Reader) error) (err error) {
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cat := exec.CommandContext(ctx, "cat")
	cat.Stdin = pipe
	out, err := cat.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := cat.Start(); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return err
	}
	err = read(out)
	// Both have ended, or the context ends them.
	return errors.Join(err, cat.Wait(), cmd.Wait())
}

// flow measures bytes from the first that comes to the last.
type flow struct {
	bytes       int
	first, last time.Time
}

func (f *flow) take(n int) {
	if n == 0 {
		return
	}
	f.last = time.Now()
	if f.bytes == 0 {
		f.first = f.last
	}
	f.bytes += n
}

// mib is MiB a second.
func (f *flow) mib() (float64, error) {
	if f.bytes != floodBytes {
		return 0, fmt.Errorf("%d bytes came instead of %d", f.bytes, floodBytes)
	}
	return float64(f.bytes) / (1 << 20) / f.last.Sub(f.first).Seconds(), nil
}

// stream compares bytes per second of a large output to a WebSocket's subscriber with `runsc run … | cat`, the best round of each.
func (b *bench) stream(ctx context.Context) (rows []row, err error) {
	bare, err := runner.NewBare(b.runsc, b.image, filepath.Join(b.folder, "flood"), flood)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bare.Close()) }()
	run, err := b.newRun(ctx, "flood")
	if err != nil {
		return nil, err
	}
	var ours, reference float64
	for range streamRounds {
		o, err := b.streamOurs(ctx, run)
		if err != nil {
			return nil, err
		}
		r, err := streamBare(ctx, bare)
		if err != nil {
			return nil, err
		}
		ours, reference = max(ours, o), max(reference, r)
	}
	return []row{ratio("16 MiB of output to a WebSocket's subscriber / runsc run | cat (more is better)", ours, reference, 0, "MiB/s")}, b.finish(ctx, run)
}

func (b *bench) streamOurs(ctx context.Context, run string) (float64, error) {
	call, err := b.begin(ctx, run, "flood")
	if err != nil {
		return 0, err
	}
	var f flow
	if err := b.follow(ctx, call, "data", func(e outputEvent) { f.take(len(e.CallOutput.Data)) }); err != nil {
		return 0, err
	}
	return f.mib()
}

func streamBare(ctx context.Context, bare *runner.Bare) (float64, error) {
	var f flow
	err := throughCat(ctx, bare.Command(ctx), func(r io.Reader) error {
		block := make([]byte, 64<<10)
		for {
			n, err := r.Read(block)
			f.take(n)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
	if err != nil {
		return 0, err
	}
	return f.mib()
}

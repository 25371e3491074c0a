package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/scriptorium-dev/scriptorium/e2e/client"
	"github.com/scriptorium-dev/scriptorium/runner"
)

const (
	delayRounds  = 4
	streamRounds = 4

	delayBar  = 50 // ms
	streamBar = 0.5
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

func outputOf(fields string) string {
	return `subscription($call: ID!) { callOutput(call: $call) { __typename ... on OutputChunk { ` + fields + ` } ... on CallFinished { call { status } } } }`
}

// follow reads the events of a subscription to a call's output to the end, and hands each on.
func follow(s *client.Subscription, take func(outputEvent)) error {
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

// firstChunk calls first and follows its output on an open socket; text is what came first, and rest reads what comes behind it.
func (b *bench) firstChunk(ctx context.Context, socket *client.Socket, run string, text *string) (rest func() error, err error) {
	call, err := b.server.begin(ctx, run, first)
	if err != nil {
		return nil, err
	}
	s, err := socket.Subscribe(outputOf("text"), map[string]string{"call": call})
	if err != nil {
		return nil, err
	}
	var e outputEvent
	err = s.Next(&e)
	*text = e.CallOutput.Text
	return func() error { return follow(s, func(outputEvent) {}) }, err
}

// delay compares the time from print to a WebSocket's subscriber with that from print to the end of a pipe behind cat.
func (b *bench) delay(ctx context.Context) ([]row, error) {
	run, err := b.server.newRun(ctx, clock)
	if err != nil {
		return nil, err
	}
	var ours, reference sample
	for range delayRounds {
		if err := b.delayOurs(ctx, run, &ours); err != nil {
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
		more("GraphQL: print to a WebSocket's subscriber / to a pipe read by cat, p50", ours.ms(.5), reference.ms(.5), delayBar),
		more("the same, p99", ours.ms(.99), reference.ms(.99), delayBar),
	}, b.server.finish(ctx, run)
}

func (b *bench) delayOurs(ctx context.Context, run string, times *sample) error {
	call, err := b.server.begin(ctx, run, clock)
	if err != nil {
		return err
	}
	s, err := b.server.Subscribe(ctx, outputOf("text"), map[string]string{"call": call})
	if err != nil {
		return err
	}
	defer s.Close()
	return follow(s, func(e outputEvent) { times.since(time.Now(), e.CallOutput.Text) })
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
	return throughCat(ctx, native(ctx, b.python, "-c", clock.source), func(r io.Reader) error {
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
func (f *flow) mib(want int) (float64, error) {
	if f.bytes != want {
		return 0, fmt.Errorf("%d bytes came instead of %d", f.bytes, want)
	}
	return float64(f.bytes) / (1 << 20) / f.last.Sub(f.first).Seconds(), nil
}

// read reads to the end.
func (f *flow) read(r io.Reader) error {
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
}

// stream compares bytes a second of a large output, at a runner's sink, at a WebSocket's subscriber, and by /calls/<id>/output, with
// `runsc run … | cat`.
func (b *bench) stream(ctx context.Context) (rows []row, err error) {
	bare, closeBare, err := b.bares(torrent.source, b.image)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeBare()) }()
	c, err := b.computer(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop(c)) }()
	run, err := b.server.newRun(ctx, flood)
	if err != nil {
		return nil, err
	}
	var sink, socket, raw, reference rates
	for range 1 + streamRounds {
		for _, r := range []struct {
			to *rates
			of func() (float64, error)
		}{
			{&sink, func() (float64, error) { return streamRunner(ctx, c) }},
			{&reference, func() (float64, error) { return streamBare(ctx, bare[0]) }},
			{&socket, func() (float64, error) { return b.streamSocket(ctx, run) }},
			{&raw, func() (float64, error) { return b.streamRaw(ctx, run) }},
		} {
			if err := quiet(ctx); err != nil {
				return nil, err
			}
			n, err := r.of()
			if err != nil {
				return nil, err
			}
			*r.to = append(*r.to, n)
		}
	}
	return []row{
		faster("runner: bytes a second of output / runsc run | cat", sink[1:], reference[1:], streamBar, "MiB/s"),
		faster("GraphQL: the same at a WebSocket's subscriber", socket[1:], reference[1:], 0, "MiB/s"),
		faster("HTTP: the same by /calls/ID/output", raw[1:], reference[1:], 0, "MiB/s"),
	}, b.server.finish(ctx, run)
}

func streamRunner(ctx context.Context, c runner.Computer) (float64, error) {
	var f flow
	res, err := c.Call(ctx, torrent.call("python3"), runner.SinkFunc(func(_ runner.Stream, p []byte) error {
		f.take(len(p))
		return nil
	}))
	if err != nil || res.ExitCode != 0 {
		return 0, errors.Join(err, fmt.Errorf("%+v", res))
	}
	return f.mib(torrentBytes)
}

func streamBare(ctx context.Context, bare *runner.Bare) (float64, error) {
	var f flow
	if err := throughCat(ctx, bare.Command(ctx), f.read); err != nil {
		return 0, err
	}
	return f.mib(torrentBytes)
}

// streamSocket takes all messages as they come, and reads them afterwards: decoding them is not the server's time.
func (b *bench) streamSocket(ctx context.Context, run string) (float64, error) {
	socket, err := b.server.Open(ctx)
	if err != nil {
		return 0, err
	}
	defer socket.Close()
	call, err := b.server.begin(ctx, run, flood)
	if err != nil {
		return 0, err
	}
	s, err := socket.Subscribe(outputOf("data"), map[string]string{"call": call})
	if err != nil {
		return 0, err
	}
	var messages [][]byte
	var at []time.Time
	for last := false; !last; {
		var text []byte
		if text, last, err = s.Receive(); err != nil {
			return 0, err
		}
		messages, at = append(messages, text), append(at, time.Now())
	}
	var f flow
	for i, text := range messages {
		var e outputEvent
		if err := s.Read(text, &e); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if n := len(e.CallOutput.Data); n > 0 {
			if f.last = at[i]; f.bytes == 0 {
				f.first = at[i]
			}
			f.bytes += n
		}
	}
	return f.mib(floodBytes)
}

// streamRaw downloads what a call has printed, once it has ended.
func (b *bench) streamRaw(ctx context.Context, run string) (float64, error) {
	call, err := b.server.begin(ctx, run, flood)
	if err != nil {
		return 0, err
	}
	s, err := b.server.Subscribe(ctx, outputOf("offset"), map[string]string{"call": call})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if err := follow(s, func(outputEvent) {}); err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.server.Host+"/calls/"+call+"/output?stream=STDOUT", nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+b.server.Secret)
	f := flow{first: time.Now()}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("/calls/%s/output: %s", call, response.Status)
	}
	if err := f.read(response.Body); err != nil {
		return 0, err
	}
	return f.mib(floodBytes)
}

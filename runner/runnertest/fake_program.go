package runnertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// Program is a Go function that stands for a program.
type Program struct {
	// Match says whether the call is this program's; nil is always.
	Match func(p *Proc) bool
	// Run is the program. It ends early when ctx does (the call was killed); what it writes after that is refused.
	Run func(ctx context.Context, p *Proc) Exit
}

// Exit is a program's end: a code, or a signal's name, or one of the two that take the computer along.
type Exit struct {
	Code         int
	Signal       string
	Memory, Lost bool
}

// Source matches calls whose script (the file that Argv[1] names) has exactly this content.
func Source(src string) func(*Proc) bool {
	return func(p *Proc) bool { return string(p.Source) == src }
}

// Proc is what a Program sees.
type Proc struct {
	// Computer is the computer's id.
	Computer string
	Call     runner.Call
	// Source is the content of the file that Argv[1] names, nil where there is none.
	Source         []byte
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	files *fakeFiles
	fake  *Fake
	once  sync.Once
	dead  chan struct{}
}

// Env is a variable's value.
func (p *Proc) Env(name string) (string, bool) {
	for _, e := range p.Call.Env {
		if k, v, _ := strings.Cut(e, "="); k == name {
			return v, true
		}
	}
	return "", false
}

// ReadFile is a file of the computer; relative paths are below Call.Dir.
func (p *Proc) ReadFile(name string) ([]byte, bool) {
	return p.files.read(p.abs(name))
}

// WriteFile makes a file of the computer as the script's user; false where a managed file stands there.
func (p *Proc) WriteFile(name string, content []byte) bool {
	return p.files.put(p.abs(name), content, 0o644, runner.ScriptUser)
}

func (p *Proc) abs(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(p.Call.Dir, name)
}

func (p *Proc) kill() { p.once.Do(func() { close(p.dead) }) }

type fakeChunk struct {
	stream runner.Stream
	data   []byte
	taken  chan struct{}
}

type fakeWriter struct {
	p      *Proc
	stream runner.Stream
	out    chan<- fakeChunk
}

// Write hands chunks to the call's goroutine and waits until the sink has taken them: a full pipe.
func (w *fakeWriter) Write(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		part := b[n:min(len(b), n+runner.MaxChunkBytes)]
		c := fakeChunk{w.stream, bytes.Clone(part), make(chan struct{}, 1)}
		select {
		case w.out <- c:
		case <-w.p.dead:
			return n, io.ErrClosedPipe
		}
		select {
		case <-c.taken:
		case <-w.p.dead:
			return n, io.ErrClosedPipe
		}
		n += len(part)
	}
	return n, nil
}

// launch starts the call's program as a goroutine.
func (c *fakeComputer) launch(ctx context.Context, call runner.Call) (*Proc, <-chan fakeChunk, <-chan Exit) {
	out, ended := make(chan fakeChunk), make(chan Exit, 1)
	p := &Proc{Computer: c.spec.ID, Call: call, Stdin: bytes.NewReader(call.Stdin), files: c.files, fake: c.fake, dead: make(chan struct{})}
	p.Stdout = &fakeWriter{p, runner.Stdout, out}
	p.Stderr = &fakeWriter{p, runner.Stderr, out}
	if len(call.Argv) > 1 {
		p.Source, _ = p.ReadFile(call.Argv[1])
	}
	run := c.fake.pick(p)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.dead:
		case <-c.done:
		case <-ctx.Done():
		}
		cancel()
	}()
	go func() { ended <- run(ctx, p) }()
	return p, out, ended
}

func (f *Fake) pick(p *Proc) func(context.Context, *Proc) Exit {
	f.mu.Lock()
	programs := f.programs
	f.mu.Unlock()
	for _, pr := range programs {
		if pr.Match == nil || pr.Match(p) {
			return pr.Run
		}
	}
	return lines
}

// lines runs the `#fake:` lines of the source.
func lines(ctx context.Context, p *Proc) Exit {
	for l := range strings.Lines(string(p.Source)) {
		_, l, ok := strings.Cut(strings.TrimRight(l, "\n"), "#fake: ")
		if !ok {
			continue
		}
		word, rest, _ := strings.Cut(l, " ")
		if e, end := line(ctx, p, word, rest); end {
			return e
		}
		if ctx.Err() != nil {
			return Exit{Signal: "SIGKILL"}
		}
	}
	return Exit{}
}

// line does one of them; end says that the program is over.
func line(ctx context.Context, p *Proc, word, rest string) (e Exit, end bool) {
	switch word {
	case "out":
		fmt.Fprintln(p.Stdout, rest)
	case "err":
		fmt.Fprintln(p.Stderr, rest)
	case "stdin":
		_, _ = io.Copy(p.Stdout, p.Stdin)
	case "env":
		v, ok := p.Env(rest)
		if !ok {
			v = "(unset)"
		}
		fmt.Fprintln(p.Stdout, v)
	case "argv":
		fmt.Fprintln(p.Stdout, strings.Join(p.Call.Argv, "\n"))
	case "cat":
		b, ok := p.ReadFile(rest)
		if !ok {
			fmt.Fprintf(p.Stderr, "cat: %s: No such file\n", rest)
			return Exit{Code: 1}, true
		}
		_, _ = p.Stdout.Write(b)
	case "write":
		name, text, _ := strings.Cut(rest, " ")
		if !p.WriteFile(name, []byte(text+"\n")) {
			fmt.Fprintf(p.Stderr, "write: %s: Permission denied\n", name)
			return Exit{Code: 1}, true
		}
	case "repeat":
		n, text, _ := strings.Cut(rest, " ")
		k, _ := strconv.Atoi(n)
		for range k {
			if _, err := fmt.Fprintln(p.Stdout, text); err != nil {
				break
			}
		}
	case "wait":
		p.fake.wait(ctx, rest)
	case "hang":
		<-ctx.Done()
	case "exit":
		k, _ := strconv.Atoi(rest)
		return Exit{Code: k}, true
	case "signal":
		return Exit{Signal: rest}, true
	case "memory":
		return Exit{Memory: true}, true
	case "lost":
		return Exit{Lost: true}, true
	default:
		fmt.Fprintf(p.Stderr, "there is no line `#fake: %s`\n", word)
		return Exit{Code: 2}, true
	}
	return Exit{}, false
}

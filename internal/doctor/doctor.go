package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// Config is what a server would be told.
type Config struct {
	// Runsc, Image, Isolation and Computers are as in runner.Config; an empty Image is the fallback.
	Runsc, Image string
	Isolation    runner.IsolationLevel
	Computers    int
	// Data is the server's data folder. It is looked at, not opened: a server may run on it.
	Data string
}

// The bounds of an examination.
const (
	examineTime = 60 * time.Second
	closeTime   = 30 * time.Second
)

// Examine looks at this machine and boots one tiny computer, whose state is in a folder of its own: a server that runs on the
// same data folder does not notice. Nothing is left behind, and it ends in time.
func Examine(ctx context.Context, c Config) (Diagnosis, error) {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	in := Input{
		Config: c, Machine: ReadMachine(os.DirFS("/"), os.Geteuid()), Data: ReadFolder(c.Data),
		NoCgroup: runner.TryMemoryCgroup(),
	}
	if c.Image != "" {
		in.ImageFault = runner.CheckImage(c.Image)
		in.Manifest, in.ManifestFault = ReadManifest(c.Image)
	}
	in.RunscThere = isProgram(c.Runsc)
	var err error
	in.Report, in.Refusal, in.Said, err = boot(ctx, c)
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return Diagnosis{}, errors.Join(context.Cause(ctx), err)
	}
	return Judge(in), err
}

// boot has a runner make a computer; refusal is why there is none, said what its log says then.
func boot(ctx context.Context, c Config) (report *runner.Report, refusal error, said string, err error) {
	state, err := os.MkdirTemp("", "scriptorium-doctor-")
	if err != nil {
		return nil, fmt.Errorf("%w: no temporary folder can be made", runner.ErrNotConfigured), "", err
	}
	defer func() {
		if e := os.RemoveAll(state); e != nil {
			err = errors.Join(err, fmt.Errorf("something is left behind: %w", e))
		}
	}()
	log := &tail{}
	// Whatever there is of isolation is to be seen, so none is asked for.
	r, err := runner.New(runner.Config{Runsc: c.Runsc, Image: c.Image, State: state, MaxComputers: 1,
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelInfo}))})
	if err != nil {
		return nil, nil, "", err
	}
	report, refusal = r.Check(ctx)
	ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	err = r.Close(ended)
	if refusal != nil {
		said = log.text()
	}
	return report, refusal, said, err
}

func isProgram(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// tail keeps the last lines of a log.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const maxTail = 2000

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - maxTail; over > 0 {
		t.b = t.b[over:]
		if _, rest, cut := bytes.Cut(t.b, []byte("\n")); cut && len(rest) > 0 {
			t.b = rest
		}
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.b), "?"))
}

package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

//go:embed probe.py
var probeSource string

const (
	probeTime   = 20 * time.Second // for the program in the computer
	probeOutput = 128 << 10        // of its bytes
)

// probed is what the program of the check says.
type probed struct {
	Python, Libc, Node string
	Streams            bool
	Libraries          []string
}

// probe boots a tiny computer, runs a program in it, and adds to the report what was found.
func (p *Process) probe(ctx context.Context, r *Report) error {
	c, err := p.start(ctx, Spec{ID: fmt.Sprintf("check_%d", time.Now().UnixNano())})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = c.Close(ctx)
	}()
	found, err := runProbe(ctx, c)
	if err != nil {
		return fmt.Errorf("a program in a computer failed: %w", err)
	}
	r.Runtimes = []string{"python3 " + found.Python}
	if found.Node != "" {
		r.Runtimes = append(r.Runtimes, "node "+found.Node)
	}
	r.Runtimes = append(r.Runtimes, found.Libc)
	r.Libraries, r.WholeWrites = found.Libraries, found.Streams
	if r.Digest == "" {
		sum := sha256.Sum256([]byte(strings.Join(slices.Concat(r.Runtimes, r.Libraries), "\n")))
		r.Digest = "sha256:" + hex.EncodeToString(sum[:])
	}
	if c.isolation != nil {
		r.Mounts = c.isolation.Mounts
	}
	if c.confinement != nil {
		r.Confinement = *c.confinement
		r.Lacks = append(r.Lacks, r.Confinement.lacks()...)
	}
	return nil
}

// runProbe runs the program, as any program of a script's is run.
func runProbe(ctx context.Context, c Computer) (*probed, error) {
	var out bytes.Buffer
	errs := &tail{max: 500}
	res, err := c.Call(ctx, Call{ID: "check", Argv: []string{"python3", "/tmp/check.py"}, Dir: "/tmp", Timeout: probeTime,
		Env:   []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1"},
		Files: []FileChange{{Op: FileWrite, Path: "/tmp/check.py", Mode: 0o444, Content: []byte(probeSource)}},
	}, SinkFunc(func(s Stream, b []byte) error {
		if s == Stderr {
			_, err := errs.Write(b)
			return err
		}
		if out.Len()+len(b) > probeOutput {
			return errors.New("too much output")
		}
		_, err := out.Write(b)
		return err
	}))
	switch {
	case err != nil:
		return nil, err
	case res.ExitCode != 0:
		return nil, fmt.Errorf("python3 exited with %d (%s) %s", res.ExitCode, res.Reason, errs)
	}
	var found probed
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		return nil, fmt.Errorf("it says something else than it should: %w", err)
	}
	return &found, nil
}

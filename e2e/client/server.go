package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopTime is how long a server may take to stop before it is killed.
const stopTime = 30 * time.Second

// Server is a throw-away server on a free port of 127.0.0.1, with everything that it keeps in a folder of its own.
type Server struct {
	// Host is 127.0.0.1:PORT.
	Host string
	// Secret is the operator's key.
	Secret string

	cmd    *exec.Cmd
	folder string
	log    tail
	exited chan struct{}
	err    error // how it ended; set before exited is closed
}

var readyLine = regexp.MustCompile(`^Scriptorium is ready: http://(127\.0\.0\.1:\d+)/`)

// Start starts the server's binary with more flags, and waits until it is ready or ctx ends. Stop it.
func Start(ctx context.Context, binary string, flags ...string) (*Server, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "scriptorium-client-")
	if err != nil {
		return nil, err
	}
	s := &Server{folder: folder, exited: make(chan struct{})}
	data := filepath.Join(folder, "data")
	s.cmd = exec.Command(binary, append([]string{"serve", "--listen=127.0.0.1:0", "--data=" + data}, flags...)...)
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "TMPDIR=" + folder}
	s.cmd.Stderr = &s.log
	// What is typed at the terminal is for this program, which stops the server; should it die, the server goes, too.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	stdout, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the server: %w", err), os.RemoveAll(folder))
	}
	ready := make(chan string, 1)
	go s.watch(stdout, ready)
	select {
	case s.Host = <-ready:
	case <-s.exited:
		err = fmt.Errorf("the server ended at once: %w", s.err)
	case <-ctx.Done():
		err = errors.New("the server was not ready in time")
	}
	if err == nil {
		var secret []byte
		secret, err = os.ReadFile(filepath.Join(data, "admin.key"))
		s.Secret = strings.TrimSpace(string(secret))
	}
	if err != nil {
		return nil, errors.Join(err, fmt.Errorf("the end of its log:\n%s", s.Log()), s.Stop())
	}
	return s, nil
}

// watch reads standard output to its end, and waits for the server's.
func (s *Server) watch(stdout io.Reader, ready chan<- string) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if m := readyLine.FindStringSubmatch(lines.Text()); m != nil {
			select {
			case ready <- m[1]:
			default:
			}
		}
	}
	s.err = s.cmd.Wait()
	close(s.exited)
}

// Log is the end of what the server wrote to its log.
func (s *Server) Log() string { return s.log.String() }

// Stop ends the server in order and removes its folder. An error says that it did not end well.
func (s *Server) Stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	var err error
	select {
	case <-s.exited:
		if err = s.err; err != nil {
			err = fmt.Errorf("the server did not end well: %w", err)
		}
	case <-time.After(stopTime):
		_ = s.cmd.Process.Kill()
		<-s.exited
		err = fmt.Errorf("the server did not end within %s", stopTime)
	}
	return errors.Join(err, os.RemoveAll(s.folder))
}

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailBytes = 8 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.b = append(t.b, p...); len(t.b) > 2*tailBytes {
		t.b = bytes.Clone(t.b[len(t.b)-tailBytes:])
	}
	return len(p), nil
}

// String is what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/scriptorium-dev/scriptorium/e2e/client"
)

// server is a throw-away server in a folder of its own.
type server struct {
	cmd    *exec.Cmd
	folder string // everything of it, data and temporary files
	api    client.Server
	log    *tail
	exited chan error
	family map[int]string // processes that it started: their start times by id
}

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.b = append(t.b, p...); len(t.b) > 16<<10 {
		t.b = bytes.Clone(t.b[len(t.b)-8<<10:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

var address = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)

// startServer starts binary on a free port and waits until it says where it listens.
func startServer(ctx context.Context, binary string) (*server, error) {
	folder, err := os.MkdirTemp("", "scriptorium-demo-")
	if err != nil {
		return nil, err
	}
	s := &server{folder: folder, log: &tail{}, exited: make(chan error, 1), family: map[int]string{}}
	if err := os.Mkdir(filepath.Join(folder, "tmp"), 0o700); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	s.cmd = exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--data", s.data())
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "TMPDIR=" + filepath.Join(folder, "tmp")}
	s.cmd.Stderr = s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	stdout, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the server: %w", err), os.RemoveAll(folder))
	}
	found := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			_, _ = s.log.Write(append(lines.Bytes(), '\n'))
			if m := address.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case found <- m[1]:
				default:
				}
			}
		}
		s.exited <- s.cmd.Wait()
	}()
	select {
	case s.api.Host = <-found:
	case err = <-s.exited:
		s.exited <- err
		err = fmt.Errorf("the server ended at once: %v\n%s", err, s.log)
	case <-ctx.Done():
		err = fmt.Errorf("the server is not ready in time\n%s", s.log)
	}
	if err == nil {
		var secret []byte
		secret, err = os.ReadFile(filepath.Join(s.data(), "admin.key"))
		s.api.Secret = strings.TrimSpace(string(secret))
	}
	if err != nil {
		return nil, errors.Join(err, s.kill())
	}
	return s, nil
}

func (s *server) data() string { return filepath.Join(s.folder, "data") }

// kill ends the server where something went wrong; its folder goes.
func (s *server) kill() error {
	_ = s.cmd.Process.Kill()
	<-s.exited
	return os.RemoveAll(s.folder)
}

// meet remembers the processes that run below the server now.
func (s *server) meet() error {
	all, err := processes()
	if err != nil {
		return err
	}
	known := map[int]bool{s.cmd.Process.Pid: true}
	for again := true; again; {
		again = false
		for _, p := range all {
			if known[p.parent] && !known[p.pid] {
				known[p.pid], again = true, true
				s.family[p.pid] = p.start
			}
		}
	}
	return nil
}

// stop ends the server in order, and answers an error where something of it is left.
func (s *server) stop(ctx context.Context) error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return errors.Join(err, s.kill())
	}
	select {
	case err := <-s.exited:
		if err != nil {
			return fmt.Errorf("the server did not end well: %w\n%s", err, s.log)
		}
	case <-ctx.Done():
		return errors.Join(errors.New("the server did not end in time"), s.kill())
	}
	var left []string
	var err error
	// A killed process may take a moment to be gone.
	soon, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	waitFor(soon, func() bool {
		left, err = s.remains()
		return err != nil || len(left) == 0
	})
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
	}
	return os.RemoveAll(s.folder)
}

// remains lists what is left of the ended server: processes, mounts, temporary files, and folders of computers.
func (s *server) remains() (left []string, err error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if p.pid != os.Getpid() && p.state != "Z" && (s.family[p.pid] == p.start || strings.Contains(p.command, s.folder)) {
			left = append(left, fmt.Sprintf("process %d: %s", p.pid, p.command))
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, s.folder) {
			left = append(left, "mount "+strings.TrimSpace(line))
		}
	}
	err = filepath.WalkDir(s.folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case filepath.Dir(path) == filepath.Join(s.folder, "tmp"), d.IsDir() && (d.Name() == "rootfs" || d.Name() == "bundles"):
			left = append(left, "file "+path)
		}
		return nil
	})
	return left, err
}

// process is one of this machine's.
type process struct {
	pid, parent           int
	start, state, command string
}

// processes lists what runs on this machine.
func processes() ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var all []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it ended meanwhile
		}
		_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')'):]), " ")
		f := strings.Fields(rest)
		parent, _ := strconv.Atoi(f[1])
		command, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		all = append(all, process{pid: pid, parent: parent, state: f[0], start: f[19], command: strings.ReplaceAll(string(command), "\x00", " ")})
	}
	return all, nil
}

// waitFor looks until f answers true, or ctx ends.
func waitFor(ctx context.Context, f func() bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

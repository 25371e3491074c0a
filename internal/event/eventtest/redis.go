package eventtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/event"
)

// RedisURLVariable names the environment variable with the URL of a Redis to use instead of a server of the tests' own.
const RedisURLVariable = "SCRIPTORIUM_TEST_REDIS_URL"

var (
	shared     = sync.OnceValues(func() (*Server, error) { return start() })
	prefixes   atomic.Int64
	binaryName = "redis-server"
)

// Redis answers the URL of a Redis server and a prefix of keys that is this test's alone. The server is one of the test
// binary's own, started at the first call and gone with the process, or the one that SCRIPTORIUM_TEST_REDIS_URL names. Where
// there is none, the test fails.
func Redis(t testing.TB) (url, prefix string) {
	t.Helper()
	prefix = fmt.Sprintf("test-%d-%d", os.Getpid(), prefixes.Add(1))
	if url := os.Getenv(RedisURLVariable); url != "" {
		return url, prefix
	}
	server, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return server.URL, prefix
}

// RedisBus is a bus on Redis(t), closed with the test.
func RedisBus(t testing.TB) *event.Redis {
	t.Helper()
	url, prefix := Redis(t)
	return NewRedis(t, url, prefix)
}

// NewRedis is a bus on a given Redis, closed with the test: another server of the deployment that has the prefix.
func NewRedis(t testing.TB, url, prefix string) *event.Redis {
	t.Helper()
	bus, err := event.NewRedis(url, prefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	return bus
}

// Server is a redis-server process of a test's own, for tests that end it.
type Server struct {
	// URL is a unix:// URL; it stays the same through Stop and Start.
	URL string

	dir   string
	guard *exec.Cmd
	life  *os.File
}

// StartServer starts a redis-server that keeps nothing on disk. It is stopped with the test.
func StartServer(t testing.TB) *Server {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remove)
	return s
}

func start() (*Server, error) {
	if _, err := exec.LookPath(binaryName); err != nil {
		return nil, errors.New("this test needs Redis: install Debian's package redis-server, or name one in " + RedisURLVariable)
	}
	dir, err := os.MkdirTemp("", "redis") // short: a socket's path has at most 107 bytes
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "unix://" + filepath.Join(dir, "s"), dir: dir}
	if err := s.run(); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// guardScript runs redis-server for as long as its own standard input is open: however the test's process ends, the server
// ends with it, and its folder is removed.
const guardScript = `
"$1" --port 0 --unixsocket "$2/s" --dir "$2" --save "" --appendonly no --daemonize no --loglevel warning \
  >>"$2/log" 2>&1 </dev/null &
pid=$!
echo $pid >"$2/pid"
read -r keep
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
[ "$keep" = keep ] || rm -rf "$2"
`

func (s *Server) run() error {
	_ = os.Remove(filepath.Join(s.dir, "s"))
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	s.guard = exec.Command("/bin/sh", "-c", guardScript, "guard", binaryName, s.dir)
	s.guard.Stdin = r
	s.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is the test's
	if err := s.guard.Start(); err != nil {
		w.Close()
		return err
	}
	s.life = w
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return s.ready(ctx)
}

func (s *Server) ready(ctx context.Context) error {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		if s.answers() {
			return nil
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("redis-server does not answer: %s", log)
		case <-ticker.C:
		}
	}
}

func (s *Server) answers() bool {
	c, err := net.Dial("unix", filepath.Join(s.dir, "s"))
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	reply := make([]byte, 5)
	_, err = c.Write([]byte("PING\r\n"))
	if err == nil {
		_, err = c.Read(reply)
	}
	return err == nil && string(reply) == "+PONG"
}

// Stop kills the server, as a crash would: all that it holds is lost.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.end("keep\n"); err != nil {
		t.Fatal(err)
	}
}

// Start starts it again, empty, after Stop.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
}

// Pause stops the server's process without ending it: connections stay open and nothing answers. Resume goes on.
func (s *Server) Pause(t testing.TB) { s.signal(t, syscall.SIGSTOP) }

// Resume ends a Pause.
func (s *Server) Resume(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *Server) signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) end(word string) error {
	if s.life == nil {
		return nil
	}
	_, err := s.life.WriteString(word)
	s.life.Close()
	s.life = nil
	_ = s.guard.Wait()
	return err
}

func (s *Server) remove() {
	_ = s.end("")
	_ = os.RemoveAll(s.dir)
}

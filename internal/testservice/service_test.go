package testservice

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// childEnv tells TestKilled that it is the child.
const childEnv = "SCRIPTORIUM_TESTSERVICE_CHILD"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPostgres(t *testing.T) {
	service, err := Postgres()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), service.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
	wrong, _, _ := strings.Cut(service.URL, "?")
	_, host, _ := strings.Cut(wrong, "@")
	if _, err := pgx.Connect(t.Context(), "postgres://scriptorium:wrong@"+host+"?sslmode=disable"); err == nil {
		t.Error("lets anybody in")
	}
	for range 2 {
		if err := service.Stop(); err != nil {
			t.Error(err)
		}
	}
	if _, err := pgx.Connect(t.Context(), service.URL); err == nil {
		t.Error("answers after its end")
	}
}

func TestRedis(t *testing.T) {
	service, err := Redis()
	if err != nil {
		t.Fatal(err)
	}
	password, address, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(service.URL, "redis://:"), "/0"), "@")
	ask := func(command string) string {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // read to its end
		if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	if got := ask("AUTH " + password); got != "+OK\r\n" {
		t.Errorf("answers %q", got)
	}
	if got := ask("PING"); !strings.HasPrefix(got, "-NOAUTH") {
		t.Errorf("answers %q without a password", got)
	}
	if err := service.Stop(); err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", address); err == nil {
		_ = conn.Close()
		t.Error("answers after its end")
	}
}

// A server that does not start says why, and leaves nothing.
func TestStart_fails(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	_, err := start(server{script: "echo 'no more memory' >&2; exit 1"})
	if err == nil || !strings.Contains(err.Error(), "no more memory") {
		t.Errorf("answered %v", err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// A test program that is killed leaves no server and no folder.
func TestKilled(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		child(t)
	}
	folder, err := os.MkdirTemp("", "scriptorium-killed-*") // open as /tmp is: t.TempDir would not let the user postgres in
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // empty by then
	if err := os.Chmod(folder, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilled$")
	c.Env = append(os.Environ(), childEnv+"=yes", "TMPDIR="+folder)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "serving\n" {
		t.Fatalf("said %q, %v", line, err)
	}
	if served, _ := filepath.Glob(filepath.Join(folder, "*", "log")); len(served) != 2 {
		t.Errorf("%d servers in the folder", len(served))
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // killed
	for {
		left, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("still there: %v", left)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// child starts both servers and waits to be killed.
func child(t *testing.T) {
	for _, start := range []func() (*Service, error){Postgres, Redis} {
		if _, err := start(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stdout.WriteString("serving\n"); err != nil {
		t.Fatal(err)
	}
	select {}
}

// Testservices starts a throw-away PostgreSQL and Redis, runs a command with their addresses in its environment, stops them, and exits as the
// command did:
//
//	testservices [-postgres=false] [-redis=false] -- go test ./...
//
// SCRIPTORIUM_TEST_POSTGRES_URL and SCRIPTORIUM_TEST_REDIS_URL are what it sets, and prints first. SIGINT, SIGTERM and SIGHUP are
// passed on to the command. Without a command it serves until one of them comes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/scriptorium-dev/scriptorium/internal/testservice"
)

func main() {
	postgres := flag.Bool("postgres", true, "start PostgreSQL")
	redis := flag.Bool("redis", true, "start Redis")
	flag.Parse()
	code, err := run(*postgres, *redis, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testservices:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run starts, runs and stops; the code is the command's.
func run(postgres, redis bool, command []string) (code int, err error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	for _, s := range []struct {
		wanted bool
		env    string
		start  func() (*testservice.Service, error)
	}{
		{postgres, testservice.PostgresEnv, testservice.Postgres},
		{redis, testservice.RedisEnv, testservice.Redis},
	} {
		if !s.wanted {
			continue
		}
		service, serr := s.start()
		if serr != nil {
			return 1, serr
		}
		defer func() { err = errors.Join(err, service.Stop()) }()
		fmt.Printf("%s=%s\n", s.env, service.URL)
		if err := os.Setenv(s.env, service.URL); err != nil {
			return 1, err
		}
	}
	if len(command) == 0 {
		<-signals
		return 0, nil
	}
	return runCommand(command, signals)
}

// runCommand runs the command to its end, and passes signals on.
func runCommand(command []string, signals <-chan os.Signal) (int, error) {
	c := exec.Command(command[0], command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		return 1, err
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = c.Process.Signal(s) // it may have ended just now
		case err := <-done:
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
					return 128 + int(status.Signal()), nil
				}
				return exit.ExitCode(), nil
			}
			return 0, err
		}
	}
}

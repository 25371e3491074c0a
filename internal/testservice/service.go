package testservice

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// attempts is how often a server is started with another port, when somebody else was faster.
const attempts = 3

// Service is a server that runs.
type Service struct {
	// URL is its address with its password.
	URL string

	stop func() error
}

// running holds the pipes of the services, which stop when theirs is closed: by the garbage collector, too, if nobody held it.
var running sync.Map

// Stop stops the server, removes its data, and answers when that is done. Calling it again does nothing more.
func (s *Service) Stop() error { return s.stop() }

// server is what differs between the servers.
type server struct {
	// script is run by /bin/sh in the server's folder. It starts the server, says `echo ready` when it takes connections, waits with
	// `read` until its input ends, and stops the server. What it prints to its error output is shown when it fails.
	script string
	// environment is added to the script's.
	environment []string
	// credential is whose process it is; nil for our own user.
	credential *syscall.Credential
}

// removeScript ends every script: there may be nobody else left to do it.
const removeScript = `
cd / && rm -rf "$FOLDER"
`

// start runs a server in a new folder until it is ready.
func start(s server) (*Service, error) {
	folder, err := os.MkdirTemp("", "scriptorium-test-*")
	if err != nil {
		return nil, err
	}
	started, err := startIn(folder, s)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return started, nil
}

// startIn is start in a folder that is there.
func startIn(folder string, s server) (*Service, error) {
	if s.credential != nil {
		if err := os.Chown(folder, int(s.credential.Uid), int(s.credential.Gid)); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the shell has its own
	in, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // the shell has its own
	ready, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	defer ready.Close() //nolint:errcheck // only read from

	command := exec.Command("/bin/sh", "-c", s.script+removeScript)
	command.Dir = folder
	command.Env = append(append(os.Environ(), "FOLDER="+folder), s.environment...)
	command.Stdin, command.Stdout, command.Stderr = in, out, log
	// A group of its own: a Ctrl-C at the terminal is for the tests, and the pipe tells the shell when they have ended.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.credential}
	if err := errors.Join(command.Start(), out.Close()); err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	service := &Service{}
	running.Store(service, pipe)
	service.stop = sync.OnceValue(func() error {
		running.Delete(service)
		err := errors.Join(pipe.Close(), command.Wait())
		return errors.Join(err, os.RemoveAll(folder))
	})
	if line, _ := bufio.NewReader(ready).ReadString('\n'); line != "ready\n" {
		text, _ := os.ReadFile(filepath.Join(folder, "log"))
		return nil, errors.Join(errors.New(strings.TrimSpace(string(text))), service.Stop())
	}
	return service, nil
}

// freePort is a port of loopback that nobody listens on.
func freePort() (int, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}

// withPort tries start with a few ports and a new password.
func withPort(name string, try func(port int, password string) (*Service, error)) (*Service, error) {
	var failed error
	for range attempts {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		service, err := try(port, rand.Text())
		if err == nil {
			return service, nil
		}
		failed = err
	}
	return nil, fmt.Errorf("%s does not start: %w", name, failed)
}

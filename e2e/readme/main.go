package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/scriptorium-dev/scriptorium/e2e/client"
)

const (
	buildTime   = 15 * time.Minute // to build everything and be ready, from nothing
	commandTime = 60 * time.Minute
	stepTime    = time.Minute
	stopTime    = time.Minute
)

// block is a fenced part of the README.
type block struct{ kind, text string }

var fence = regexp.MustCompile("(?ms)^```(sh|graphql)\n(.*?)^```$")

func blocks(readme string) (all []block) {
	for _, m := range fence.FindAllStringSubmatch(readme, -1) {
		all = append(all, block{m[1], m[2]})
	}
	return all
}

// skip is a command that is not run: CI has done the tests just before, and they take long.
var skip = flag.String("skip", "", "a `command` of the README that is not run")

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "readme:", err)
		os.Exit(1)
	}
	fmt.Println("The README does what it says.")
}

// run does the README from its first block to its last one.
func run(ctx context.Context) error {
	text, err := os.ReadFile("README.md")
	if err != nil {
		return err
	}
	var r reader
	defer func() { _ = r.interrupt() }()
	for _, b := range blocks(string(text)) {
		if b.kind == "graphql" {
			err = r.document(ctx, b.text)
		} else if err = r.interrupt(); err == nil {
			err = r.commands(ctx, b.text)
		}
		if err != nil {
			return fmt.Errorf("%w\nin the block\n%s", err, b.text)
		}
	}
	if r.documents == 0 {
		return errors.New("no document was sent: is README.md here?")
	}
	return r.interrupt()
}

// reader is someone who follows the README.
type reader struct {
	serving   *exec.Cmd
	server    *client.Server
	ids       map[string]string // the last id of a kind, by prefix
	documents int
}

// commands runs the lines of a block. One that serves is left running.
func (r *reader) commands(ctx context.Context, text string) error {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if line == *skip {
			fmt.Println("$", line, "(left out)")
			continue
		}
		fmt.Println("$", line)
		if line == "make run" {
			if err := r.serve(ctx, line); err != nil {
				return err
			}
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, commandTime)
		defer cancel()
		command := exec.CommandContext(ctx, "bash", "-c", line)
		command.Stdout, command.Stderr = os.Stdout, os.Stderr
		if err := command.Run(); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	return nil
}

var (
	readyLine = regexp.MustCompile(`^Scriptorium is ready: http://([^/]+)/playground$`)
	keyLine   = regexp.MustCompile(`^The operator's key is in (.+)$`)
)

// serve starts the server and waits until it has said where it is and where the key is.
func (r *reader) serve(ctx context.Context, line string) error {
	r.serving = exec.Command("bash", "-c", "exec "+line)
	r.serving.Stderr = os.Stderr
	r.serving.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C goes to all of its group
	out, err := r.serving.StdoutPipe()
	if err != nil {
		return err
	}
	if err := r.serving.Start(); err != nil {
		return err
	}
	said := make(chan []string, 1)
	go func() {
		var host, file string
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Println(lines.Text())
			if m := readyLine.FindStringSubmatch(lines.Text()); m != nil {
				host = m[1]
			}
			if m := keyLine.FindStringSubmatch(lines.Text()); m != nil {
				file = m[1]
			}
			if host != "" && file != "" {
				select {
				case said <- []string{host, file}:
				default:
				}
			}
		}
		close(said)
	}()
	select {
	case s := <-said:
		if s == nil {
			return errors.New("the server ended before it was ready")
		}
		secret, err := os.ReadFile(s[1])
		r.server = &client.Server{Host: s[0], Secret: strings.TrimSpace(string(secret))}
		return err
	case <-time.After(buildTime):
		return fmt.Errorf("the server was not ready within %s", buildTime)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// interrupt ends the server as Ctrl-C does.
func (r *reader) interrupt() error {
	if r.serving == nil {
		return nil
	}
	serving := r.serving
	r.serving = nil
	if err := syscall.Kill(-serving.Process.Pid, syscall.SIGINT); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- serving.Wait() }()
	select {
	case err := <-done:
		var exit *exec.ExitError
		if errors.As(err, &exit) { // make says that it was interrupted
			return nil
		}
		return err
	case <-time.After(stopTime):
		return errors.Join(errors.New("the server did not stop"), syscall.Kill(-serving.Process.Pid, syscall.SIGKILL))
	}
}

var (
	placeholder = regexp.MustCompile(`([a-z]+)_…`)
	anID        = regexp.MustCompile(`"([a-z]+)_[0-9a-z]{26}"`)
)

// document sends a document, with ids pasted in, and remembers the ids of its answer.
func (r *reader) document(ctx context.Context, text string) error {
	if r.server == nil {
		return errors.New("there is no server yet")
	}
	r.documents++
	text = placeholder.ReplaceAllStringFunc(text, func(p string) string {
		return r.ids[strings.TrimSuffix(p, "_…")]
	})
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	if strings.HasPrefix(text, "subscription") {
		return r.watch(ctx, text)
	}
	var answer json.RawMessage
	if err := r.server.Do(ctx, text, nil, &answer); err != nil {
		return err
	}
	fmt.Printf("%s\n", answer)
	if r.ids == nil {
		r.ids = map[string]string{}
	}
	for _, m := range anID.FindAllStringSubmatch(string(answer), -1) {
		r.ids[m[1]] = strings.Trim(m[0], `"`)
	}
	return nil
}

// watch follows a call's output to its end, which must be a good one.
func (r *reader) watch(ctx context.Context, text string) error {
	sub, err := r.server.Subscribe(ctx, text, nil)
	if err != nil {
		return err
	}
	defer sub.Close()
	for {
		var event struct {
			CallOutput struct {
				Text string
				Call *struct{ Status string }
			}
		}
		if err := sub.Next(&event); err != nil {
			return fmt.Errorf("the stream ended before CallFinished: %w", err)
		}
		fmt.Print(event.CallOutput.Text)
		if c := event.CallOutput.Call; c != nil {
			if c.Status != "SUCCEEDED" {
				return fmt.Errorf("the call ended %s", c.Status)
			}
			return nil
		}
	}
}

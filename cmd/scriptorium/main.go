// Command scriptorium is the server: it keeps scripts, runs them in gVisor computers, and streams what happens over GraphQL.
//
//	scriptorium serve      serve the API (see --help for the flags)
//	scriptorium migrate    bring the database up to date, and exit
//	scriptorium key        make another key of the operator, and print its secret
//	scriptorium forget-secrets
//	                       remove the agents' secrets whose key is lost
//	scriptorium doctor     say what this machine offers to computers, and what to do
//	scriptorium version    print the version
//
// Exit codes: 0 done, 1 failed, 2 the command line or the configuration is wrong. Of doctor: 0 all is good, 1 computers work with less than
// there could be, 2 there are none.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// version is set by the linker.
var version = "unknown"

// command is one of those that there are. One without run is done by execute.
type command struct {
	name, about string
	run         func(context.Context, *config, io.Writer) error
}

func commands() []command {
	return []command{
		{"serve", "serves the API", serve},
		{"migrate", "brings the database up to date, and exits; serve does it by itself at its start", migrate},
		{"key", "makes another key of the operator and prints its secret, for where the first one was lost; with SQLite, stop the server first", newKey},
		{"forget-secrets", "removes the agents' secrets that no key opens any more, for where their key was lost, and says how many; with SQLite, stop the server first", forgetSecrets},
		{"doctor", "says what this machine offers to computers, line by line, and what to do where it is not good; a server may run meanwhile", examine},
		{"version", "prints the version", nil},
	}
}

// about is what a command does.
func about(name string) string {
	for _, c := range commands() {
		if c.name == name {
			return c.about
		}
	}
	return ""
}

// writeUsage names the commands.
func writeUsage(out io.Writer) {
	fmt.Fprint(out, "usage: scriptorium COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(out, "  %-14s %s\n", c.name, c.about)
	}
	fmt.Fprint(out, "\n\"scriptorium serve --help\" lists the flags.\n")
}

// errUsage says that the command line is wrong; what is wrong has been said.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	code := exitCode(err)
	if _, said := errors.AsType[diagnosed](err); code == 1 && !said {
		fmt.Fprintln(os.Stderr, "scriptorium:", err)
	}
	stop()
	os.Exit(code)
}

// exitCode is what the process answers.
func exitCode(err error) int {
	if d, ok := errors.AsType[diagnosed](err); ok {
		return int(d)
	}
	switch {
	case errors.Is(err, flag.ErrHelp), err == nil:
		return 0
	case errors.Is(err, errUsage):
		return 2
	default:
		return 1
	}
}

// execute runs one command.
func execute(ctx context.Context, args []string, out, errs io.Writer) error {
	if len(args) == 0 {
		writeUsage(errs)
		return errUsage
	}
	if slices.Contains([]string{"help", "--help", "-help", "-h"}, args[0]) {
		writeUsage(out)
		return nil
	}
	if len(args) == 1 && args[0] == "version" {
		_, err := fmt.Fprintln(out, version)
		return err
	}
	at := slices.IndexFunc(commands(), func(c command) bool { return c.name == args[0] })
	if at < 0 {
		fmt.Fprintf(errs, "unknown command %q\n\"scriptorium --help\" lists the commands.\n", args[0])
		return errUsage
	}
	run := commands()[at].run
	if run == nil {
		fmt.Fprintf(errs, "%s takes no arguments: it %s.\n", args[0], about(args[0]))
		return errUsage
	}
	c, err := parseConfig(args[0], args[1:], os.LookupEnv, out)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(errs, err)
			return errUsage
		}
		return err
	}
	if c.CheckConfig {
		_, err := fmt.Fprintln(out, "The configuration is valid.")
		return err
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(errs, nil)))
	return run(ctx, c, out)
}

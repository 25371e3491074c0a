// Command scriptorium is the server: it keeps scripts, runs them in gVisor computers, and streams what happens over GraphQL.
//
//	scriptorium serve      serve the API (see --help for the flags)
//	scriptorium migrate    bring the database up to date, and exit
//	scriptorium key        make another key of the operator, and print its secret
//	scriptorium version    print the version
//
// Exit codes: 0 done, 1 failed, 2 the command line or the configuration is wrong.
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
	"syscall"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// version is set by the linker.
var version = "unknown"

const usage = `usage: scriptorium serve|migrate|key|version [flags]
"scriptorium serve --help" lists the flags.
`

// errUsage says that the command line is wrong; what is wrong has been said.
var errUsage = errors.New("usage")

func main() {
	if len(os.Args) > 1 && os.Args[1] == runner.MainArg {
		os.Exit(runner.Main(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp), err == nil:
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "scriptorium:", err)
		os.Exit(1)
	}
}

// execute runs one command.
func execute(ctx context.Context, args []string, out, errs io.Writer) error {
	commands := map[string]func(context.Context, *config, io.Writer) error{"serve": serve, "migrate": migrate, "key": newKey}
	if len(args) == 1 && args[0] == "version" {
		_, err := fmt.Fprintln(out, version)
		return err
	}
	if len(args) == 0 || commands[args[0]] == nil {
		fmt.Fprint(errs, usage)
		return errUsage
	}
	c, err := parseConfig(args[0], args[1:], os.LookupEnv, errs)
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
	return commands[args[0]](ctx, c, out)
}

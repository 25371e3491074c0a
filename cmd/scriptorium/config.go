package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scriptorium-dev/scriptorium/graph"
	"github.com/scriptorium-dev/scriptorium/internal/secret"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// config is what `serve`, and in part the other commands, can be told. Every flag has a twin in the environment: --database-url is SCRIPTORIUM_DATABASE_URL; a flag
// goes before it.
type config struct {
	Listen           string
	Data             string
	DatabaseURL      string
	RedisURL         string
	BlobURL          string
	Runsc            string
	Image            string
	Isolation        string
	ComputerIdle     time.Duration
	CallTimeoutLimit time.Duration
	SpareComputers   int
	Computers        int
	Queue            int
	AllowedOrigins   []string
	SecretsKey       string
	CheckConfig      bool
	JSON             bool

	// For tests, which share one Redis, count statements, may run on a machine that is too busy to print in time, and do not wait long for slow clients.
	maskWait    time.Duration
	timing      graph.Timing
	redisPrefix string
	onStatement func(ctx context.Context, statement string)
}

// envPrefix begins the name of every flag's twin.
const envPrefix = "SCRIPTORIUM_"

// define defines all flags.
func (c *config) define(f *flag.FlagSet) (origins *string) {
	f.StringVar(&c.Listen, "listen", "127.0.0.1:8080", "`address` to serve on; port 0 takes a free one")
	f.StringVar(&c.Data, "data", "data", "`folder` for the database, the blobs, the computers' state, admin.key and secrets.key")
	f.StringVar(&c.DatabaseURL, "database-url", "", "postgres://… `URL`; without it SQLite in the data folder")
	f.StringVar(&c.RedisURL, "redis-url", "", "redis://… `URL` of the event bus, for several servers (needs --database-url); without it the bus inside this process")
	f.StringVar(&c.BlobURL, "blob-url", "", "file:///… `URL` of a folder for blobs that all servers share; without it they are in PostgreSQL, or with SQLite in the data folder")
	f.StringVar(&c.Runsc, "runsc", "", "`path` of the runsc that was built with this program (default: runsc beside it)")
	f.StringVar(&c.Image, "image", "", "`path` of the computers' image, or \"host\" for this machine's own /usr, read-only (default: computer.erofs beside this program, host where there is none)")
	f.StringVar(&c.Isolation, "isolation", string(runner.IsolationAny), "`level` of isolation that there must be, or calls are refused: any; image: computers are made of an image; full: and the server is root, a cgroup holds each computer's memory, the sandbox's own process has no privileges")
	f.DurationVar(&c.ComputerIdle, "computer-idle", 10*time.Minute, "how long a run's computer stays when nothing is called")
	f.DurationVar(&c.CallTimeoutLimit, "call-timeout-limit", 10*time.Minute, "the longest time that a call may take, in whole seconds")
	f.IntVar(&c.SpareComputers, "spare-computers", 2, "how many computers wait, booted, for runs to take (each some 25 MiB); 0: each is made when it is needed")
	f.IntVar(&c.Computers, "computers", 32, "how many computers this server has at once (each may use 512 MiB)")
	f.IntVar(&c.Queue, "queue", 100, "how many calls of one organization may wait for a computer at this server (and ten times as many of all); further ones are refused")
	origins = f.String("allowed-origins", "", "comma-separated `origins` of browser pages on other hosts, such as https://app.example.org")
	f.StringVar(&c.SecretsKey, "secrets-key", "", "`file` with the key that encrypts the agents' secrets, or the key itself: 32 bytes in base64, the same for all servers; without it secrets.key in the data folder, made where it is missing")
	f.BoolVar(&c.CheckConfig, "check-config", false, "check the configuration and exit")
	f.BoolVar(&c.JSON, "json", false, "answer one JSON object")
	return origins
}

// parseConfig reads the arguments and the environment. All faults are reported together; --help goes to out.
func parseConfig(command string, args []string, getenv func(string) (string, bool), out io.Writer) (*config, error) {
	c := &config{}
	all := flag.NewFlagSet("all", flag.ContinueOnError)
	origins := c.define(all)
	f := flag.NewFlagSet(command, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {} // the errors and the help are written here
	all.VisitAll(func(fl *flag.Flag) {
		if takes(command, fl.Name) {
			f.Var(fl.Value, fl.Name, fl.Usage)
		}
	})
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		writeHelp(f, out)
		return nil, err
	} else if err != nil {
		dashes := strings.NewReplacer("not defined: -", "not defined: --", "for flag -", "for flag --", "an argument: -", "an argument: --")
		hint := fmt.Sprintf("%q lists the flags.", "scriptorium "+command+" --help")
		return nil, fmt.Errorf("%s\n%s", dashes.Replace(err.Error()), hint)
	}
	faults := fromEnvironment(f, getenv)
	if f.NArg() > 0 {
		faults = append(faults, fmt.Errorf("unexpected argument %q", f.Arg(0)))
	}
	for o := range strings.SplitSeq(*origins, ",") {
		if o = strings.TrimSpace(o); o != "" {
			c.AllowedOrigins = append(c.AllowedOrigins, o)
		}
	}
	return c, errors.Join(append(faults, c.check()...)...)
}

// takes says whether a command has a flag.
func takes(command, flag string) bool {
	switch command {
	case "serve":
		return flag != "json"
	case "doctor":
		return slices.Contains([]string{"data", "runsc", "image", "isolation", "computers", "json"}, flag)
	case "forget-secrets":
		return slices.Contains([]string{"data", "database-url", "secrets-key"}, flag)
	default:
		return flag == "data" || flag == "database-url"
	}
}

// writeHelp writes what a command does and its flags.
func writeHelp(f *flag.FlagSet, out io.Writer) {
	fmt.Fprintf(out, "scriptorium %s: %s.\n\nEach flag has a twin in the environment; a flag goes before it.\n\n", f.Name(), about(f.Name()))
	f.VisitAll(func(fl *flag.Flag) {
		value, words := flag.UnquoteUsage(fl)
		name := "--" + fl.Name
		if value != "" {
			name += " " + value
		}
		standard := ""
		if fl.DefValue != "" && fl.DefValue != "false" {
			standard = ", default " + fl.DefValue
		}
		fmt.Fprintf(out, "  %s\n      %s\n      environment %s%s\n", name, words, twin(fl.Name), standard)
	})
}

// twin is a flag's name in the environment.
func twin(flag string) string { return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// fromEnvironment sets what no flag set from the environment.
func fromEnvironment(f *flag.FlagSet, getenv func(string) (string, bool)) []error {
	given := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	var faults []error
	f.VisitAll(func(fl *flag.Flag) {
		name := twin(fl.Name)
		value, ok := getenv(name)
		if !ok || given[fl.Name] {
			return
		}
		if err := f.Set(fl.Name, value); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	})
	return faults
}

// check holds what a single flag's type cannot. It never repeats a URL, which may hold a password.
func (c *config) check() []error {
	var faults []error
	fail := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if _, port, err := net.SplitHostPort(c.Listen); err != nil {
		fail("--listen: %q is not host:port", c.Listen)
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		fail("--listen: %q has no port from 0 to 65535", c.Listen)
	}
	if c.Data == "" {
		fail("--data: a folder is needed")
	}
	if u, err := url.Parse(c.DatabaseURL); c.DatabaseURL != "" && (err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql") {
		fail("--database-url: must be a postgres:// URL")
	}
	if u, err := url.Parse(c.RedisURL); c.RedisURL != "" && (err != nil || u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix") {
		fail("--redis-url: must be a redis:// URL")
	}
	if c.RedisURL != "" && c.DatabaseURL == "" {
		fail("--redis-url: several servers need --database-url, too")
	}
	if scheme, rest, isURL := strings.Cut(c.BlobURL, "://"); isURL && scheme != "mem" && (scheme != "file" || !strings.HasPrefix(rest, "/")) {
		fail("--blob-url: must be a file:///… URL of a folder")
	}
	level := runner.IsolationLevel(c.Isolation)
	if !slices.Contains(runner.IsolationLevels(), level) {
		fail("--isolation: must be any, image or full")
	} else if c.Image == imageHost && level != runner.IsolationAny {
		fail("--isolation: %s needs an image, and --image says %s", level, imageHost)
	}
	if c.ComputerIdle < time.Second {
		fail("--computer-idle: must be at least 1s")
	}
	if c.CallTimeoutLimit < time.Second || c.CallTimeoutLimit%time.Second != 0 {
		fail("--call-timeout-limit: must be whole seconds, at least 1s")
	}
	if c.Computers < 1 {
		fail("--computers: must be at least 1")
	}
	if c.SpareComputers < 0 {
		fail("--spare-computers: must be at least 0")
	}
	if c.Queue < 1 {
		fail("--queue: must be at least 1")
	}
	for _, o := range c.AllowedOrigins {
		if u, err := url.Parse(o); err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o {
			fail("--allowed-origins: %q is not an origin like https://app.example.org", o)
		}
	}
	return faults
}

// imageHost is --image's word for computers made of this machine's own /usr.
const imageHost = "host"

// image answers the path of the computers' image, empty for this machine's own /usr. One that was named and is not there is an error of the computers,
// never a reason to use something else.
func (c *config) image() (string, error) {
	switch c.Image {
	case imageHost:
		return "", nil
	case "":
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		beside := filepath.Join(filepath.Dir(self), "computer.erofs")
		if _, err := os.Stat(beside); errors.Is(err, os.ErrNotExist) {
			return "", nil
		}
		return beside, nil
	}
	return filepath.Abs(c.Image)
}

// secretsKey says where the key comes from that encrypts the agents' secrets.
func (c *config) secretsKey() secret.Source {
	return secret.Source{Given: c.SecretsKey, File: filepath.Join(c.Data, secret.KeyFile)}
}

// runsc answers the path of runsc: the one given, or the one beside this program. It is never looked up in PATH.
func (c *config) runsc() (string, error) {
	if c.Runsc != "" {
		return filepath.Abs(c.Runsc)
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(self), "runsc"), nil
}

package call

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// maxVariable is what Linux takes for one environment string, with its name and its end mark.
const maxVariable = 131_072

const scriptArgs = "GUILDS_SCRIPT_ARGS="

// folder is what a call has for itself in its computer: its arguments, and a place for what it makes.
func folder(callID string) string { return runner.Calls + "/" + callID }

// program is what a call runs.
type program struct {
	callID, runID string
	argv          []string
	dir, home     string // where it starts, and its HOME
	input         json.RawMessage
	environment   map[string]string
	secrets       map[string]string
	timeout       time.Duration
	fresh         bool // in an interpreter of its own
	packaged      bool // it is a package's
}

// process is what the computer is given: `python3 scripts/NAME.py` in the home, or a package's entrypoint in its folder (S2-cwd); the arguments on standard
// input, in a file, and, where they fit, in a variable (S1-run, S1-stdin, S1-env, S2-argfile, S2-outdir).
func (p program) process() runner.Call {
	own := folder(p.callID)
	c := runner.Call{
		ID:    p.callID,
		Argv:  p.argv,
		Env:   p.env(),
		Dir:   p.dir,
		Stdin: p.input,
		Files: []runner.FileChange{
			{Op: runner.FileWrite, Path: own + "/arguments.json", Mode: 0o444, Content: p.input},
			{Op: runner.FileMkdir, Path: own + "/outputs", Mode: 0o755, UID: runner.ScriptUser, GID: runner.ScriptUser},
		},
		Timeout: p.timeout,
		Fresh:   p.fresh,
		Outputs: own + "/outputs",
	}
	if p.packaged {
		c.Files = append(c.Files, runner.FileChange{Op: runner.FileMkdir, Path: p.home, Mode: 0o755, UID: runner.ScriptUser, GID: runner.ScriptUser})
	}
	return c
}

// packageHome is the HOME of a call of a package. In an agent's home, and in /workspace, any program of the run may have left what others run without knowing it:
// modules that Python and Node look for there, settings that are code. A package, which is exactly what was reviewed (S2-verify), finds an empty one.
func packageHome(callID string) string { return folder(callID) + "/home" }

// litter is what the call has in its folder and nobody needs when it has ended.
func (p program) litter() []string {
	litter := []string{folder(p.callID) + "/arguments.json"}
	if p.packaged {
		litter = append(litter, p.home)
	}
	return litter
}

// env is the whole environment, sorted by name; nothing of the server's is in it.
func (p program) env() []string {
	own := folder(p.callID)
	env := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin",
		"HOME=" + p.home,
		"LANG=C.UTF-8",
		"TZ=UTC",
		"PYTHONUNBUFFERED=1",
		"PYTHONDONTWRITEBYTECODE=1",
		"ARTIFIC_ARGUMENTS=" + own + "/arguments.json",
		"ARTIFIC_OUTPUTS=" + own + "/outputs",
		"SCRIPTORIUM_RUN_ID=" + p.runID,
		"SCRIPTORIUM_CALL_ID=" + p.callID,
	}
	if len(scriptArgs)+len(p.input)+1 <= maxVariable {
		env = append(env, scriptArgs+string(p.input))
	}
	for name, value := range p.secrets { // reserved names were refused, here and there
		env = append(env, name+"="+value)
	}
	for name, value := range p.environment {
		if _, hidden := p.secrets[name]; !hidden { // a secret wins (S1-secret)
			env = append(env, name+"="+value)
		}
	}
	slices.Sort(env)
	return env
}

package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// healthy is a machine where all is good.
func healthy() Input {
	return Input{
		Config: Config{Runsc: "/runsc", Image: "/computer.erofs", Isolation: runner.IsolationFull, Computers: 4, Data: "/data"},
		Machine: Machine{Kernel: "6.1.0", CgroupVersion: 2, CgroupDelegated: true, MaxUserNamespaces: 100, Seccomp: true, SeccompKnown: true, PtraceScope: 1,
			MemoryTotal: 8 << 30, MemoryAvailable: 4 << 30, OpenFiles: 1024},
		Data: Folder{Path: "/data", Exists: true, Writable: true, Free: 10 << 30}, RunscThere: true,
		Manifest: &Manifest{Digest: "sha256:1", Release: "Debian"},
		Report: &runner.Report{Gvisor: "v1", Platform: "systrap", Digest: "sha256:1", Runtimes: []string{"python3 3.11.2", "node 18.0.0", "glibc 2.36"},
			Libraries: []string{"npm acorn 8.8.1", "pypi attrs 22.2.0", "pypi six 1.16.0"}, WholeWrites: true, MemoryLimit: "a cgroup",
			Mounts: []runner.Mount{{Path: "/"}, {Path: "/workspace"}}, Confinement: runner.Confinement{Seccomp: true, NoNewPrivileges: true, UID: "65534"}},
	}
}

// refuse makes it one where there are no computers.
func refuse(in *Input, why string) {
	in.Report, in.Refusal = nil, fmt.Errorf("%w: %s", runner.ErrNotConfigured, why)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	type want struct {
		name     string
		severity Severity
		words    string // in what was found and what to do
	}
	for name, c := range map[string]struct {
		change func(*Input)
		worst  Severity
		wants  []want
	}{
		"healthy": {func(*Input) {}, Good, []want{
			{"memory", Good, "14 computers fit"}, {"open files", Good, "with 4 computers the server may need 176, and one for each connection, its runner process 168"}, {"libraries", Good, "2 of Python's (pypi), 1 of node's"}, {"computer", Good, "/ /workspace"}, {"isolation", Good, "full"}}},
		"the fallback": {func(in *Input) {
			in.Config.Image, in.Config.Isolation, in.Manifest = "", runner.IsolationAny, nil
			in.Report.Fallback, in.Report.Lacks = true, []runner.Lack{{Part: runner.PartImage, Why: "/usr"}}
		}, Warning, []want{{"image", Warning, "make image"}, {"isolation", Warning, "missing of full isolation: image"}}},
		"the fallback where more is asked for": {func(in *Input) {
			in.Config.Image, in.Config.Isolation, in.Manifest = "", runner.IsolationImage, nil
			in.Report.Lacks = []runner.Lack{{Part: runner.PartImage, Why: "/usr"}}
		}, Failure, []want{{"isolation", Failure, "--isolation"}}},
		"another user": {func(in *Input) {
			in.Config.Isolation, in.Machine.UID, in.NoCgroup = runner.IsolationAny, 1000, errors.New("the server is not root")
			in.Report.Lacks = []runner.Lack{{Part: runner.PartRoot}, {Part: runner.PartMemory}}
		}, Warning, []want{{"user", Warning, "1000"}, {"memory cgroups", Warning, "ten times a second"}, {"user namespaces", Good, "allowed"}}},
		"another user without namespaces": {func(in *Input) {
			in.Machine.UID, in.Machine.UserNamespacesOff = 1000, "kernel.unprivileged_userns_clone=1"
			refuse(in, "the runner process could not be started")
		}, Failure, []want{{"user namespaces", Failure, "sysctl -w kernel.unprivileged_userns_clone=1"}, {"computer", Failure, "could not be started"}}},
		"root without namespaces": {func(in *Input) { in.Machine.UserNamespacesOff = "user.max_user_namespaces=10000" }, Good, []want{{"user namespaces", Good, "root does not need"}}},
		"cgroups not handed down": {func(in *Input) { in.Machine.CgroupDelegated, in.NoCgroup = false, errors.New("none") }, Warning, []want{{"memory cgroups", Warning, "cgroup.subtree_control"}}},
		"no cgroups":              {func(in *Input) { in.Machine.CgroupVersion, in.NoCgroup = 0, errors.New("none") }, Warning, []want{{"memory cgroups", Warning, "cgroup_enable=memory"}}},
		"cgroups read-only":       {func(in *Input) { in.NoCgroup = errors.New("read-only file system") }, Warning, []want{{"memory cgroups", Warning, "writable"}}},
		"no runsc": {func(in *Input) { in.RunscThere = false; refuse(in, "there is no program runsc at /runsc") }, Failure, []want{
			{"runsc", Failure, "make build"}, {"computer", Failure, "there is no program"}, {"isolation", Good, "nothing runs"}}},
		"another runsc": {func(in *Input) { refuse(in, "/runsc belongs to another build of Scriptorium: build both again") }, Failure, []want{{"runsc", Failure, "make build"}}},
		"no image": {func(in *Input) {
			in.ImageFault = errors.New("no such file")
			refuse(in, "the computers' image")
		}, Failure, []want{{"image", Failure, "Nothing else is ever used"}}},
		"an image that does not boot": {func(in *Input) {
			refuse(in, "no computer starts on the image")
			in.Said = "line one\nline two"
		}, Failure, []want{{"image", Good, "/computer.erofs"}, {"computer", Failure, "line two"}}},
		"a manifest of another image": {func(in *Input) { in.Manifest.Digest = "sha256:2" }, Warning, []want{{"image", Warning, "belongs to another one, sha256:2"}}},
		"a broken manifest":           {func(in *Input) { in.Manifest, in.ManifestFault = nil, errors.New("broken") }, Warning, []want{{"image", Warning, "broken"}}},
		"no manifest":                 {func(in *Input) { in.Manifest = nil }, Good, []want{{"image", Good, "without a manifest"}}},
		"packages left out":           {func(in *Input) { in.Manifest.LeftOut = []string{"python3-pptx"} }, Good, []want{{"image", Good, "1 packages were left out: python3-pptx"}}},
		"no node":                     {func(in *Input) { in.Report.Runtimes = in.Report.Runtimes[1:] }, Warning, []want{{"node", Warning, "nodejs"}}},
		"streams as they are":         {func(in *Input) { in.Report.WholeWrites = false }, Warning, []want{{"python streams", Warning, "Debian's python3"}}},
		"a sandbox with privileges": {func(in *Input) {
			in.Config.Isolation = runner.IsolationAny
			in.Report.Confinement = runner.Confinement{Seccomp: true, Capabilities: "8001f", UID: "0"}
			in.Report.Lacks = []runner.Lack{{Part: runner.PartProcess, Why: "it is root in its user namespace"}}
		}, Warning, []want{{"sandbox process", Warning, "user 0, capabilities 8001f, a seccomp filter, may gain privileges"}}},
		"no seccomp":          {func(in *Input) { in.Machine.Seccomp = false; refuse(in, "x") }, Failure, []want{{"seccomp", Failure, "CONFIG_SECCOMP_FILTER"}}},
		"seccomp not said":    {func(in *Input) { in.Machine.Seccomp, in.Machine.SeccompKnown = false, false }, Good, []want{{"seccomp", Good, "in force"}}},
		"ptrace by root only": {func(in *Input) { in.Machine.PtraceScope = 3; refuse(in, "x") }, Failure, []want{{"ptrace", Failure, "ptrace_scope"}}},
		"little memory":       {func(in *Input) { in.Machine.MemoryLimit = 1 << 30 }, Warning, []want{{"memory", Warning, "lower --computers to 1"}}},
		"unknown memory":      {func(in *Input) { in.Machine.MemoryTotal = 0 }, Warning, []want{{"memory", Warning, "/proc"}}},
		"few open files":      {func(in *Input) { in.Machine.OpenFiles, in.Config.Computers = 600, 60 }, Warning, []want{{"open files", Warning, "to 848 or more"}, {"open files", Warning, "--computers to 39"}}},
		"too few open files":  {func(in *Input) { in.Machine.OpenFiles = 100 }, Failure, []want{{"open files", Failure, "of a container)."}}},
		"unknown open files":  {func(in *Input) { in.Machine.OpenFiles = 0 }, Warning, []want{{"open files", Warning, "/proc"}}},
		"a closed folder":     {func(in *Input) { in.Data.Writable = false }, Failure, []want{{"data folder", Failure, "--data"}}},
		"a full disk":         {func(in *Input) { in.Data.Free = 5 << 20 }, Warning, []want{{"data folder", Warning, "5 MiB free"}}},
	} {
		in := healthy()
		c.change(&in)
		d := Judge(in)
		if d.Severity != c.worst || (d.Computers != nil) != (in.Report != nil) {
			t.Errorf("%s: %s, want %s: %+v", name, d.Severity, c.worst, d.Findings)
		}
		for _, w := range c.wants {
			i := slices.IndexFunc(d.Findings, func(f Finding) bool { return f.Name == w.name })
			if i < 0 || d.Findings[i].Severity != w.severity || !strings.Contains(d.Findings[i].Found+" "+d.Findings[i].Advice, w.words) {
				t.Errorf("%s: no %s %q with %q in %+v", name, w.severity, w.name, w.words, d.Findings)
			}
		}
		for _, f := range d.Findings {
			if (f.Severity == Good) != (f.Advice == "") || f.Found == "" {
				t.Errorf("%s: advice where it is needed, and only there: %+v", name, f)
			}
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	var l tail
	for i := range 1000 {
		fmt.Fprintf(&l, "line %d\n", i)
	}
	if text := l.text(); len(text) > maxTail || !strings.HasSuffix(text, "line 999") || !strings.HasPrefix(text, "line ") {
		t.Errorf("%q", text)
	}
}

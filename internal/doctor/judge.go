package doctor

import (
	"fmt"
	"strings"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// Severity says how much is wrong.
type Severity int

// The severities; each is the exit code that goes with it.
const (
	// Good: as it should be.
	Good Severity = iota
	// Warning: computers work, with less than there could be.
	Warning
	// Failure: there are no computers.
	Failure
)

// String is "good", "warning" or "failure".
func (s Severity) String() string {
	return [...]string{"good", "warning", "failure"}[s]
}

// MarshalText implements encoding.TextMarshaler.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is one thing that was looked at.
type Finding struct {
	Name     string   `json:"name"`
	Severity Severity `json:"severity"`
	// Found says what there is, Advice what to do; the latter is empty where all is good.
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"`
}

// Diagnosis is all of it.
type Diagnosis struct {
	// Severity is the worst of the findings'.
	Severity Severity  `json:"severity"`
	Findings []Finding `json:"findings"`
	// Computers is what computers are made of; nil where there are none.
	Computers *Computers `json:"computers"`
}

// Computers is what a booted computer told of them all.
type Computers struct {
	Gvisor      string        `json:"gvisor"`
	Platform    string        `json:"platform"`
	Digest      string        `json:"digest"`
	Fallback    bool          `json:"fallback"`
	Runtimes    []string      `json:"runtimes"`
	Libraries   []string      `json:"libraries"`
	MemoryLimit string        `json:"memoryLimit"`
	Lacks       []runner.Lack `json:"lacks"`
}

// Input is what is judged.
type Input struct {
	Config  Config
	Machine Machine
	Data    Folder
	// RunscThere is true where there is a program at the path of runsc.
	RunscThere bool
	// NoCgroup is why no memory cgroup could be made; nil where one could.
	NoCgroup error
	// ImageFault is why the image is none; Manifest is the one beside the image, ManifestFault why it cannot be read.
	ImageFault    error
	Manifest      *Manifest
	ManifestFault error
	// Report is what a booted computer told. Where there was none it is nil, Refusal says why, and Said is what the log said.
	Report  *runner.Report
	Refusal error
	Said    string
}

// Judge says what is good, what is not, and what to do. It is a pure function.
func Judge(in Input) (d Diagnosis) {
	if r := in.Report; r != nil {
		d.Computers = &Computers{r.Gvisor, r.Platform, r.Digest, r.Fallback, r.Runtimes, r.Libraries, r.MemoryLimit, r.Lacks}
	}
	for _, f := range [][]Finding{
		{in.user()}, {in.cgroups()}, in.namespaces(), in.kernel(), {in.runsc()}, {in.image()}, in.computer(), {in.memory()}, {openFiles(in.Machine.OpenFiles, in.Config.Computers)}, {in.data()}, {in.isolation()},
	} {
		d.Findings = append(d.Findings, f...)
	}
	for _, f := range d.Findings {
		d.Severity = max(d.Severity, f.Severity)
	}
	return d
}

func good(name, found string) Finding { return Finding{Name: name, Found: found} }

// unlessBooted is how bad a thing is that keeps most machines from having computers: where one was booted, it did not.
func (in Input) unlessBooted() Severity {
	if in.Report != nil {
		return Warning
	}
	return Failure
}

func (in Input) user() Finding {
	if in.Machine.UID == 0 {
		return good("user", "root")
	}
	return Finding{"user", Warning, fmt.Sprintf("user %d, not root: no cgroup can hold a computer's memory", in.Machine.UID),
		"Run the server as root where you can; scripts do not run as it, but as another user inside of gVisor."}
}

func (in Input) cgroups() Finding {
	m := in.Machine
	if in.NoCgroup == nil {
		return good("memory cgroups", fmt.Sprintf("version %d; one was made and removed", m.CgroupVersion))
	}
	f := Finding{"memory cgroups", Warning, in.NoCgroup.Error(), ""}
	switch {
	case m.UID != 0:
		f.Advice = "They need root. Without them a computer's memory is looked at ten times a second: a program can pass the limit for a moment."
	case m.CgroupVersion == 2 && !m.CgroupDelegated:
		f.Advice = "Hand the controller down: echo +memory > /sys/fs/cgroup/cgroup.subtree_control"
	case m.CgroupVersion == 0:
		f.Advice = "Mount cgroups with the memory controller at /sys/fs/cgroup (a kernel without it needs cgroup_enable=memory on its command line)."
	default:
		f.Advice = "Make /sys/fs/cgroup writable for the server: a container needs it mounted for writing, and a cgroup namespace of its own."
	}
	return f
}

// namespaces are needed by other users than root.
func (in Input) namespaces() []Finding {
	m := in.Machine
	switch {
	case m.UserNamespacesOff == "" && m.UID == 0:
		return []Finding{good("user namespaces", "allowed; root does not need them")}
	case m.UserNamespacesOff == "":
		return []Finding{good("user namespaces", "allowed")}
	case m.UID == 0:
		return []Finding{good("user namespaces", "not for other users than root ("+m.UserNamespacesOff+" would allow them); root does not need them")}
	}
	return []Finding{{"user namespaces", in.unlessBooted(), "not allowed for other users than root, and this one needs them",
		"As root: sysctl -w " + m.UserNamespacesOff + ", and the same line in /etc/sysctl.d to keep it. Or run the server as root."}}
}

// kernel is what gVisor needs of it.
func (in Input) kernel() (list []Finding) {
	m := in.Machine
	switch {
	case m.Seccomp:
		list = append(list, good("seccomp", "filters are there (Linux "+m.Kernel+")"))
	case !m.SeccompKnown && in.Report != nil && in.Report.Confinement.Seccomp:
		list = append(list, good("seccomp", "filters are in force on the sandbox (Linux "+m.Kernel+")"))
	default:
		list = append(list, Finding{"seccomp", in.unlessBooted(), "the kernel does not say that it has filters (Linux " + m.Kernel + ")",
			"gVisor needs a kernel with CONFIG_SECCOMP_FILTER; in a container, a profile that lets seccomp(2) and ptrace(2) through."})
	}
	if m.PtraceScope >= 2 {
		list = append(list, Finding{"ptrace", in.unlessBooted(), fmt.Sprintf("kernel.yama.ptrace_scope is %d", m.PtraceScope),
			"gVisor traces the processes that it makes: set kernel.yama.ptrace_scope to 1. A 3 can be changed by a reboot only."})
	}
	return list
}

func (in Input) runsc() Finding {
	path := in.Config.Runsc
	switch {
	case !in.RunscThere:
		return Finding{"runsc", Failure, "there is no program at " + path, "Build it with make build, or name the one that was built with this program: --runsc."}
	case in.Report != nil:
		return good("runsc", fmt.Sprintf("%s, of this build, gVisor %s, %s", path, in.Report.Gvisor, in.Report.Platform))
	case strings.Contains(in.Refusal.Error(), "another build"), strings.Contains(in.Refusal.Error(), "does not answer as"):
		return Finding{"runsc", Failure, path + " was not built with this program", "Build both again, of one source: make build."}
	}
	return good("runsc", path)
}

func (in Input) image() Finding {
	c := in.Config
	if c.Image == "" {
		return Finding{"image", Warning, "none: computers are made of this machine's own /usr, read-only",
			"make image builds one beside this program (Debian or Ubuntu); --image names another one."}
	}
	switch {
	case in.ImageFault != nil:
		return Finding{"image", Failure, fmt.Sprintf("%s cannot be used: %v", c.Image, in.ImageFault),
			"Build it with make image, or name one that is there: --image. Nothing else is ever used in its place."}
	case in.Report == nil:
		return good("image", c.Image)
	}
	return manifest(c.Image, in.Report.Digest, in.Manifest, in.ManifestFault)
}

// computer is what was found by booting one.
func (in Input) computer() (list []Finding) {
	r := in.Report
	if r == nil {
		f := Finding{"computer", Failure, in.Refusal.Error(), "See what else is not good here; docs/operating.md says what an image must have."}
		if in.Said != "" {
			f.Advice += " What was said meanwhile:\n" + in.Said
		}
		return []Finding{f}
	}
	mounts := make([]string, 0, len(r.Mounts))
	for _, m := range r.Mounts {
		mounts = append(mounts, m.Path)
	}
	list = append(list, good("computer", "one was booted, and ran a program; its mounts: "+strings.Join(mounts, " ")),
		good("memory limit", r.MemoryLimit), in.process(),
		good("interpreters", strings.Join(r.Runtimes, ", ")))
	if len(r.Runtimes) < 3 { // python3, node, glibc
		list = append(list, Finding{"node", Warning, "there is no node in a computer", "Scripts in Python work. For node, use an image that has it, or install nodejs where the fallback is used."})
	}
	if r.WholeWrites {
		list = append(list, good("python streams", "whole writes, however slowly they are read"))
	} else {
		list = append(list, Finding{"python streams", Warning, "an interpreter that is started for its call can lose what it prints while the reader is slow",
			"Use the image that make image builds, or Debian's python3."})
	}
	return append(list, good("libraries", libraries(r.Libraries)))
}

// process is how the sandbox's own process is confined.
func (in Input) process() Finding {
	c := in.Report.Confinement
	words := []string{"user " + c.UID, "no capabilities", "a seccomp filter", "no new privileges"}
	if c.Capabilities != "" {
		words[1] = "capabilities " + c.Capabilities
	}
	if !c.Seccomp {
		words[2] = "no seccomp filter"
	}
	if !c.NoNewPrivileges {
		words[3] = "may gain privileges"
	}
	f := good("sandbox process", strings.Join(words, ", "))
	for _, l := range in.Report.Lacks {
		if l.Part == runner.PartProcess {
			f.Severity, f.Advice = Warning, "With an image, and as root, it is another user's and has no capabilities."
		}
	}
	return f
}

func libraries(all []string) string {
	counts := map[string]int{}
	for _, l := range all {
		ecosystem, _, _ := strings.Cut(l, " ")
		counts[ecosystem]++
	}
	return fmt.Sprintf("%d of Python's (pypi), %d of node's (npm)", counts["pypi"], counts["npm"])
}

// computerBytes is what one computer may take: its programs' and files' memory, and gVisor's own.
const computerBytes = runner.DefaultMemoryBytes + runner.SandboxOverheadBytes

func (in Input) memory() Finding {
	m := in.Machine
	room := m.MemoryTotal
	if m.MemoryLimit > 0 && m.MemoryLimit < room {
		room = m.MemoryLimit
	}
	if room == 0 {
		return Finding{"memory", Warning, "unknown", "Is /proc mounted?"}
	}
	fit := room / computerBytes
	f := good("memory", fmt.Sprintf("%s, %s available: %d computers fit that take all that they may (%s each); --computers is %d",
		size(room), size(m.MemoryAvailable), fit, size(computerBytes), in.Config.Computers))
	if int64(in.Config.Computers) > fit {
		f.Severity, f.Advice = Warning, fmt.Sprintf("If scripts use much memory, lower --computers to %d, or add memory.", max(fit, 1))
	}
	return f
}

// lowDisk is less than one would start a server with.
const lowDisk = 1 << 30

func (in Input) data() Finding {
	d := in.Data
	what := d.Path
	if !d.Exists {
		what += " (to be made)"
	}
	switch {
	case !d.Writable:
		return Finding{"data folder", Failure, what + " cannot be written", "Give the server's user a folder of its own: --data."}
	case d.Free < 0:
		return good("data folder", what)
	case d.Free < lowDisk:
		return Finding{"data folder", Warning, fmt.Sprintf("%s, %s free", what, size(d.Free)), "Make room: what calls print and the database are kept there."}
	}
	return good("data folder", fmt.Sprintf("%s, %s free", what, size(d.Free)))
}

// isolation is what was asked for beside what there is.
func (in Input) isolation() Finding {
	level := in.Config.Isolation
	if in.Report == nil {
		return good("isolation", fmt.Sprintf("%s is asked for; without a computer nothing runs at all", level))
	}
	if err := level.Check(in.Report.Lacks); err != nil {
		return Finding{"isolation", Failure, err.Error(), "Provide what is missing, or ask for less with --isolation: until then a server refuses calls."}
	}
	parts := make([]string, 0, len(in.Report.Lacks))
	for _, l := range in.Report.Lacks {
		parts = append(parts, string(l.Part))
	}
	if len(parts) == 0 {
		return good("isolation", fmt.Sprintf("full; %s is asked for", level))
	}
	return Finding{"isolation", Warning, fmt.Sprintf("%s is asked for; missing of full isolation: %s", level, strings.Join(parts, ", ")), "See the lines above."}
}

// size is a number of bytes in words.
func size(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

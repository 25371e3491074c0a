package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Runner makes computers. [Process] is the real one; runnertest.Fake is for the tests of other packages.
type Runner interface {
	// Check says whether computers can be had here: a tiny one is booted, a program run in it, and it is removed
	// again, within a bounded time. An error wraps ErrNotConfigured; its text is safe to show.
	Check(ctx context.Context) (*Report, error)
	// Start makes a computer. Errors wrap ErrNotConfigured or ErrUnavailable, or are ctx's own.
	Start(ctx context.Context, spec Spec) (Computer, error)
	// Close removes every computer, then ends the runner process. Calls that run end with ErrLost.
	Close(ctx context.Context) error
}

// Computer is one sandbox with its files. All methods are safe for concurrent use; calls and file changes are
// done one at a time, in the order in which they came.
type Computer interface {
	// ID is the Spec's.
	ID() string
	// Files makes changes in order and stops at the first that fails (a *FileError); earlier ones stay.
	Files(ctx context.Context, changes []FileChange) (FileReport, error)
	// Package makes a package's folder hold exactly its files, as its digests say, before a call that is to run there. Whatever differs (contents,
	// modes, owners, links, what is there beside them) is removed, and written again: open gives the content of the file at index i of
	// p.Files. Where nothing differs that is one round trip, and open is not called. Where there is no room, other packages' folders go, those first that
	// were written first. With an error the package is not whole: the next Package makes it so. Errors: ErrDamaged, open's, *FileError,
	// ErrLost, ErrClosed, ErrInvalid, ErrTooLarge, ctx's.
	Package(ctx context.Context, p Package, open func(i int) (io.ReadCloser, error)) (PackageReport, error)
	// Read tells of a folder's entries, and reads files out. What it meets is a program's doing: links are not followed, nothing is
	// opened that is no regular file. Errors: sink's, ErrLost, ErrClosed, ErrInvalid, *FileError, ctx's.
	Read(ctx context.Context, r Read, sink EntrySink) (ReadReport, error)
	// Call runs one program to its end, and returns when everything that it started is gone and its last byte has
	// been given to sink. When ctx ends, or Call.Timeout passes, the call is killed and the Result says so
	// (ReasonCancelled, ReasonTimeout) with a nil error. A sandbox killed for its memory is a Result too
	// (ReasonMemory), though the computer is gone. Errors: ErrLost, ErrClosed, *FileError (nothing was run),
	// ErrSink, ErrTooLarge (nothing was run), or ctx's own where it ended before the program was started. With ErrSink the Result
	// holds what was measured, with ErrLost and ErrClosed its Isolation only.
	Call(ctx context.Context, call Call, sink Sink) (Result, error)
	// Processes lists what runs inside, as the sandbox itself sees it.
	Processes(ctx context.Context) ([]ProcessInfo, error)
	// Close removes the computer and everything in it. A second Close does nothing.
	Close(ctx context.Context) error
	// Done is closed when the computer is gone, for whatever reason.
	Done() <-chan struct{}
}

// The errors of this package; compare with errors.Is.
var (
	// ErrNotConfigured: computers cannot be had here (no runsc, a broken one, no Python).
	ErrNotConfigured = errors.New("computers are not available on this deployment")
	// ErrUnavailable: this one computer could not be made.
	ErrUnavailable = errors.New("the computer could not be made")
	// ErrLost: the computer, or the whole runner process, went away.
	ErrLost = errors.New("the computer was lost")
	// ErrClosed: the computer or the runner has been closed.
	ErrClosed = errors.New("the computer is closed")
	// ErrSink: the sink refused output, so the call was killed.
	ErrSink = errors.New("the output could not be taken")
	// ErrTooLarge: a call or its files pass MaxPayloadBytes, or one of its parts its own bound.
	ErrTooLarge = errors.New("the call is too large")
	// ErrInvalid: a spec, path or call that no computer would take.
	ErrInvalid = errors.New("not a valid request to a computer")
)

// Defaults of a Spec.
const (
	DefaultMemoryBytes    = 512 << 20
	DefaultWorkspaceBytes = 256 << 20
	DefaultHomeBytes      = 256 << 20
	DefaultScriptsBytes   = 256 << 20
	DefaultTmpBytes       = 64 << 20
	DefaultProcesses      = 64
	DefaultOpenFiles      = 1024
)

// MaxPayloadBytes bounds what one call or one change of files may bring along: contents, arguments, environment.
const MaxPayloadBytes = 64 << 20

// Calls is a folder in /workspace for what belongs to single calls, with a size of its own, that of /workspace: a program that fills /workspace
// does not keep the next call from starting.
const Calls = "/workspace/.calls"

// ScriptUser is the user and group id of programs inside a computer.
const ScriptUser = 1000

// Spec says what computer is wanted. Zero values are the defaults above.
type Spec struct {
	// ID is unique among the runner's computers: 1 to 64 of [a-z0-9_].
	ID string
	// MemoryBytes bounds the whole sandbox (with a cgroup) and the address space of a Python process; at least 64 MiB.
	MemoryBytes int64
	// WorkspaceBytes, HomeBytes and TmpBytes are the sizes of /workspace, /home and /tmp; /dev/shm has TmpBytes, too.
	WorkspaceBytes, HomeBytes, TmpBytes int64
	// ScriptsBytes is the size of Scripts.
	ScriptsBytes int64
	// Processes bounds the processes and threads that programs have at once.
	Processes int
}

// withDefaults fills what is zero.
func (s Spec) withDefaults() Spec {
	set := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	set(&s.MemoryBytes, DefaultMemoryBytes)
	set(&s.WorkspaceBytes, DefaultWorkspaceBytes)
	set(&s.HomeBytes, DefaultHomeBytes)
	set(&s.TmpBytes, DefaultTmpBytes)
	set(&s.ScriptsBytes, DefaultScriptsBytes)
	if s.Processes == 0 {
		s.Processes = DefaultProcesses
	}
	return s
}

// Report is what Check found; a deployment shows it.
type Report struct {
	// Gvisor is runsc's version, Platform how it runs programs ("systrap").
	Gvisor, Platform string
	// Digest names the computers' root: "sha256:" and 64 hexadecimal digits of the image's bytes, or, of a fallback, over what Runtimes and
	// Libraries say.
	Digest string
	// Fallback is true where the root is the host's /usr, read-only, and not an image.
	Fallback bool
	// Rootless is true where the server is not root: then there is no memory cgroup.
	Rootless bool
	// Runtimes are interpreters with their versions, as "python3 3.11.2", in the order python3, node, glibc.
	Runtimes []string
	// Libraries are those that programs find, as "pypi openpyxl 3.0.9" and "npm acorn 8.8.1", sorted; at most 1,000 of them.
	Libraries []string
	// WholeWrites is true where an interpreter that is started for a call writes all of what a program prints, however slowly it is
	// read (see streams.py). An image brings that along, and a fallback whose python3 is Debian's has it.
	WholeWrites bool
	// MemoryLimit says in words how memory is bounded here.
	MemoryLimit string
	// Mounts are a computer's, as in Isolation.
	Mounts []Mount
	// Confinement is that of a sandbox's own process.
	Confinement Confinement
	// Lacks are the parts of full isolation that are not there, none where all are.
	Lacks []Lack
}

// FileOp says what a FileChange does.
type FileOp string

const (
	// FileWrite puts a regular file in place, atomically: a sibling is written, then renamed. Whatever stood there (a
	// link, a FIFO, a folder with all in it) is gone afterwards and was not followed. Missing folders are made, root's, 0755.
	FileWrite FileOp = "write"
	// FileMkdir makes a folder, or sets the mode and owner of the one that is there. Anything else there is removed.
	FileMkdir FileOp = "mkdir"
	// FileRemove removes what is at the path, with everything in it; what is not there is no error.
	FileRemove FileOp = "remove"
	// FileLink puts a symbolic link to Target in place, as FileWrite does a file. It is never followed.
	FileLink FileOp = "link"
	// filePut is FileWrite where nothing stands: of a package's file.
	filePut FileOp = "put"
	// FilePrune removes from the folder at the path the managed files that Keep does not name: regular files that
	// belong to root and whose names end in Suffix. Others, and folders, stay.
	FilePrune FileOp = "prune"
)

// FileChange is one change of a computer's files. Paths are absolute, clean, and inside /workspace, /home or /tmp.
// No link that a program made is ever followed, in no component; one that stands in the way of a parent folder is
// replaced by a folder.
type FileChange struct {
	Op   FileOp
	Path string
	// Mode is permission bits, with setuid and setgid refused; 01777 is allowed for folders.
	Mode uint32
	// UID and GID: 0 or ScriptUser. Files of root's are "managed": programs can neither change nor replace them,
	// where their folder is root's with mode 01777.
	UID, GID int
	// Content is the file's (FileWrite).
	Content []byte
	// Target is where a link leads (FileLink): 1 to 4,095 bytes, anything but NUL.
	Target string
	// Suffix and Keep are FilePrune's; Keep holds names, not paths.
	Suffix string
	Keep   []string
}

// FileReport tells what a list of changes did.
type FileReport struct {
	// Removed are the paths that FilePrune removed, in order.
	Removed []string
}

// FileError is a change that could not be made: a full folder, a path through something that cannot be replaced.
type FileError struct {
	// Index is the change's place in its list.
	Index int
	Op    FileOp
	Path  string
	// Full is true where the folder's size or the computer's memory was used up.
	Full bool
	// Message is the system's own word.
	Message string
}

// Error implements error.
func (e *FileError) Error() string {
	return fmt.Sprintf("%s %s: %s", e.Op, e.Path, e.Message)
}

// Call is one program to run.
type Call struct {
	// ID is for logs only.
	ID string
	// Argv is the program and its arguments; Argv[0] is looked up in Env's PATH. `python3 FILE …` (and `node FILE …`, but the first on a computer) starts without
	// the interpreter's own start-up time.
	Argv []string
	// Env is the whole environment, as NAME=value; nothing is added.
	Env []string
	// Dir is the working directory; it must exist when Files have been put in place.
	Dir string
	// Stdin is given, then end of file.
	Stdin []byte
	// Files are put in place before the program starts, in one go with it.
	Files []FileChange
	// Timeout is wall time from the program's start; 0 is none.
	Timeout time.Duration
	// Fresh asks for an interpreter that is started for this call alone, where otherwise one that was started ahead would
	// run it. A program that is no `python3 FILE …` or `node FILE …` is started for its call in any case.
	Fresh bool
	// Outputs is a folder of which Result.Made is to tell whether anything is in it when the call has ended; empty: none.
	Outputs string
	Limits  Limits
}

// Limits of one call, where they are to be lower than the computer's own; 0 leaves those: an address space of
// Spec.MemoryBytes for python3 (none for other programs), files as large as the largest of the Spec's folders, DefaultOpenFiles, Spec.Processes.
type Limits struct {
	// AddressSpaceBytes is RLIMIT_AS of each process.
	AddressSpaceBytes int64
	// FileSizeBytes is RLIMIT_FSIZE.
	FileSizeBytes int64
	// OpenFiles is RLIMIT_NOFILE.
	OpenFiles int
	// Processes is RLIMIT_NPROC.
	Processes int
}

// Stream names one of a program's output streams.
type Stream int

const (
	// Stdout is standard output.
	Stdout Stream = 1
	// Stderr is standard error.
	Stderr Stream = 2
)

// String is "stdout" or "stderr".
func (s Stream) String() string {
	if s == Stderr {
		return "stderr"
	}
	return "stdout"
}

// MaxChunkBytes is the most that a Sink is given at once.
const MaxChunkBytes = 32 << 10

// Sink takes a call's output. It is called from one goroutine, in order of arrival, with 1 to MaxChunkBytes bytes
// that are the sink's only until it returns. While it does not return, the program waits. An error kills the call.
type Sink interface {
	Write(stream Stream, p []byte) error
}

// SinkFunc is a function as a Sink.
type SinkFunc func(stream Stream, p []byte) error

// Write implements Sink.
func (f SinkFunc) Write(stream Stream, p []byte) error { return f(stream, p) }

// Discard is a Sink that takes everything and keeps nothing.
var Discard Sink = SinkFunc(func(Stream, []byte) error { return nil })

// Reason says why a call ended.
type Reason string

const (
	// ReasonExit: the program ended by itself with ExitCode.
	ReasonExit Reason = "exit"
	// ReasonSignal: the program died of Signal, which was not the runner's.
	ReasonSignal Reason = "signal"
	// ReasonTimeout: Call.Timeout passed.
	ReasonTimeout Reason = "timeout"
	// ReasonMemory: the sandbox outgrew its memory and was killed; the computer is gone.
	ReasonMemory Reason = "memory"
	// ReasonCancelled: the call's context ended.
	ReasonCancelled Reason = "cancelled"
)

// Result is a program's end.
type Result struct {
	// ExitCode is what it exited with, or 128 + the signal's number.
	ExitCode int
	// Signal is the name ("SIGKILL") where it died of one, else empty: sys.exit(137) has none.
	Signal string
	Reason Reason
	// Wall is from the program's start to its end. CPU is that of its program, of the processes whose end their parents waited for, and of those that
	// it left behind; that of a process whose parent did not want to hear of its end (it ignored SIGCHLD) is not in it.
	Wall, CPU time.Duration
	// PeakMemoryBytes is the largest resident size of any one of the processes that CPU counts, or, where that is more, by how much the whole computer's
	// memory grew at the most while the call ran, as the host counts it: all its processes together, its files, what gVisor keeps for them. Without a cgroup
	// the host counts ten times a second. Of a call that ended because the computer was killed it is the latter.
	PeakMemoryBytes int64
	// LeftOver counts the processes that it left behind and that were killed.
	LeftOver int
	// Made is true where something may be in Call.Outputs, and false where that folder is empty or not there.
	Made bool
	// Isolation says how the program was kept apart. It is there whenever the program was started, with ErrLost and ErrSink too, and
	// nil where it was not.
	Isolation *Isolation
}

// Isolation is how one call's program was kept apart from its host and from all others, as it was in force while it ran. It is shown to the
// people who called, and kept with the call: nothing of the host's own (paths, names, addresses) belongs in it.
type Isolation struct {
	// Gvisor is its version, Platform how it runs programs, as in Report.
	Gvisor, Platform string
	// Network is NetworkNone; there is nothing else.
	Network string
	// ImageDigest names the computer's root, as Report.Digest does.
	ImageDigest string
	// MemoryLimit says in words how memory is bounded, as in Report.
	MemoryLimit string
	// Limits are those in force for this call: the computer's, or the call's own where that is lower.
	Limits IsolationLimits
	// Mounts are the computer's, "/" first, then in the order in which they are mounted.
	Mounts []Mount
	// Remaining counts the call's processes that were still there when its end was told: 0, or there is a fault.
	Remaining int
}

// NetworkNone is the network of a computer that has none.
const NetworkNone = "none"

// IsolationLimits are a call's limits in force; 0 is none (Timeout only).
type IsolationLimits struct {
	// MemoryBytes is the whole computer's, its files' in memory among it.
	MemoryBytes int64
	// AddressSpaceBytes, FileSizeBytes, OpenFiles are each process's; Processes is that of all programs at once, with their threads.
	AddressSpaceBytes, FileSizeBytes int64
	OpenFiles, Processes             int
	// WorkspaceBytes, HomeBytes and TmpBytes are the sizes of /workspace, /home and /tmp; ScriptsBytes is that of the packages' folder.
	WorkspaceBytes, HomeBytes, TmpBytes, ScriptsBytes int64
	// Timeout is wall time from the program's start.
	Timeout time.Duration
}

// Mount is one file system in a computer.
type Mount struct {
	// Path is where it is mounted, Type its file system as gVisor is told of it: "erofs", "bind", "tmpfs", "proc".
	Path, Type string
	ReadOnly   bool
}

// ProcessInfo is one process inside a computer.
type ProcessInfo struct {
	PID, PPID, UID int
	// Command is the program's name.
	Command string
	// Init is true for the init itself and for the processes that it keeps waiting for the next call.
	Init bool
}

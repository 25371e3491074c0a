// Package runner runs programs in gVisor computers: one sandbox each, without a network, with a read-only root
// and memory-backed folders: /workspace, /home, /tmp; /dev/shm for shared memory and locks; two in /workspace, for calls and for packages. It knows files, argument vectors, environments,
// standard streams and limits; it knows nothing of scripts, runs or agents.
//
// # Parts
//
// A server holds a [Process], which is the client of one runner process: the server's own binary, executed again
// (see [Main]). The runner process makes the sandboxes and ends them; it dies with the server, and its sandboxes
// die with it. Inside each sandbox a small trusted init (init.py) takes one call after another: it puts the files
// that come along in place, starts the program, and afterwards kills everything that the program left behind.
//
//	server: Process ── one unix socket ──> runner process ── two unix sockets ──> init, in the sandbox
//	   └────────── pipes: files, stdin, stdout, stderr (passed along as descriptors) ──────┘
//
// The bytes of a call do not pass through the runner process: the server makes the pipes, and their other ends
// travel as descriptors. Back-pressure is therefore a pipe's own: a slow [Sink] stops the program's writes.
//
// A computer's init forks the process of its next call while nobody waits, so a call of `python3 FILE …` costs no start of
// an interpreter. It runs in that fork as it would in an interpreter of its own (there is a test that runs programs both
// ways); what stays different is in docs/interpreters.md: calls on one computer share the seed of Python's string hashes.
// Whatever asks for other start-up settings (an option of Python's, a PYTHON… variable that is not among the usual ones),
// or for [Call].Fresh, gets an interpreter. Once a call of `node FILE …` has ended on a computer, a node waits as well, and is
// handed the next one: as root, where no program can reach it; it becomes the programs' user before it runs anything. It opens
// the call's pipes through /proc from the process that was forked ahead, since Node cannot be given descriptors.
// With [Config].Spares booted computers wait, so that the first call on a computer costs what the others do.
//
// Packages of files have a folder of their own, Scripts, on a file system of their own. Only root can write there: [Computer].Package has a package's
// folder hold exactly its files, compared by digest, mode, owner and links before a call. Where nothing differs that is one round trip: some 1.5 ms for
// a small package, 8 ms for 200 small files, 25 ms for 19 MiB (BenchmarkPackage). A program runs there as elsewhere, in the interpreter that was started
// ahead, and cannot write beside itself.
//
// # What is promised
//
//   - Nothing of a caller's ever runs on the host. Where no sandbox can be made, Check and Start say so
//     ([ErrNotConfigured], [ErrUnavailable]); there is no second way.
//   - A program's end is data ([Result]); an error is a fault of ours. A computer that died is [ErrLost].
//   - After a call the computer's process list holds the init and what it keeps waiting, whatever the program did.
//   - A package is whole as its call begins, whatever earlier programs did, or there is an error and it must not be run.
//   - The host never opens a path that a program made: files go in through the init.
//   - Nothing is left behind: not after Close, and not after kill -9 of the server once the next one started.
//
// # Limits
//
// Memory: as root the whole sandbox lives in a memory cgroup of Spec.MemoryBytes (its files in /workspace, /home
// and /tmp count). A computer that outgrows it is killed, and the call ends with [ReasonMemory]. Beside it each
// process has an address space limit: a program that meets only this one sees an ordinary failure (Python raises
// MemoryError and exits 1), which is the program's own end, [ReasonExit]. A process may raise this limit: it is there so that
// programs fail in a way that they can tell, the other one is what holds. Programs other than python3 begin without it, for many
// reserve far more than they use (Node would not start): Node has a heap of three quarters of the memory instead (it dies of
// SIGABRT then), unless the call's own options say otherwise. What a Python program starts has the limit; to start a node, it
// raises it: resource.setrlimit(resource.RLIMIT_AS, (-1, -1)). As another user than root there is no
// cgroup: while a call runs, the runner process looks at the sandbox's memory, gVisor's own included, ten times a second instead (and
// once a second otherwise), so that a program can pass the limit for a moment; [Report.MemoryLimit] says so.
//
// Processes, open files and file sizes are limited per process or user (RLIMIT_NPROC, NOFILE, FSIZE, CORE), the
// folders by their size, wall time by the runner process: TERM to the call, KILL a second later, and the sandbox
// itself if the init does not answer within two more.
package runner

package runner

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// MainArg is the first argument with which the server's binary is executed again as the runner process.
const MainArg = "runner-process"

const (
	orphanSignal = syscall.SIGUSR1  // sent by the kernel when the server has died
	tidyTime     = 15 * time.Second // for everything to be removed
)

// mainSocket is the runner process's end of the socket to the server.
const mainSocket = 3

// Main is the runner process; args follow MainArg. It ends, and takes every sandbox with it, when the socket to the
// server does, and returns the exit code.
func Main(args []string, engine func(EngineConfig) (Engine, error)) int {
	fs := flag.NewFlagSet(MainArg, flag.ContinueOnError)
	image := fs.Bool("image", false, "the descriptor after the socket's is of the computers' image; else: the fallback")
	state := fs.String("state", "", "folder for state")
	rootless := fs.Bool("rootless", false, "this process is root in a user namespace only")
	limit := fs.Int("computers", 0, "most computers at once")
	spares := fs.Int("spares", 0, "computers that wait, booted, to be taken")
	level := fs.String("isolation", "", "how much of isolation there must be")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	debug.SetGCPercent(400) // its heap is a few MiB: collecting it for every other computer costs more than it saves
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	// The server ends this process, in its own time; what asks the server to stop may reach all of its processes.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	f := os.NewFile(mainSocket, "server")
	w, err := newWire(f)
	if err != nil {
		log.Error("the runner process was not started by a server", "error", err)
		return 2
	}
	f.Close()
	held := ""
	if *image {
		syscall.CloseOnExec(imageFd)
		held = heldImage()
	}
	h := &host{server: w, log: log, limit: *limit, computers: map[string]*hosted{}, spares: *spares, level: IsolationLevel(*level),
		quit: make(chan struct{}), boots: make(chan struct{}, runtime.NumCPU())}
	h.report = sync.OnceValues(h.describe)
	if err := h.open(engine, held, *state, *rootless); err != nil {
		h.broken = err // every request is answered with it
	}
	// The socket's end is what ends this process; the kernel's word that its parent died comes beside it, should a copy
	// of the socket ever be held by somebody else.
	orphaned := make(chan os.Signal, 1)
	signal.Notify(orphaned, orphanSignal)
	go func() {
		<-orphaned
		w.conn.Close()
	}()
	h.serve()
	// What does not tidy up in time is left to the next start; sandboxes die with this process in any case.
	time.AfterFunc(tidyTime, func() { os.Exit(1) })
	if err := h.close(); err != nil {
		log.Error("the runner process leaves something behind, for the next start to remove", "error", err)
		return 1
	}
	return 0
}

// host is the runner process.
type host struct {
	server    *wire
	log       *slog.Logger
	limit     int
	sandboxes *sandboxes
	held      *os.File               // the lock of this start's folder
	broken    error                  // why no computer can be made
	noCgroups error                  // why there is no memory limit for a whole computer
	report    func() (Report, error) // describe, once
	quit      chan struct{}
	boots     chan struct{}  // holds one for each sandbox that is booted just now
	spares    int            // computers that are to wait
	level     IsolationLevel // that there must be
	lacks     []Lack         // found before a computer was made

	mu        sync.Mutex
	computers map[string]*hosted
	waiting   []*hosted // booted, not yet taken
	filling   bool
	made      int // spares so far, for their names
	work      sync.WaitGroup
}

// open makes this start's folder, and what sandboxes are made with.
func (h *host) open(engine func(EngineConfig) (Engine, error), image, state string, rootless bool) error {
	r, err := findRoot(image)
	if err != nil {
		return err
	}
	folder, held, err := startFolder(state)
	if err != nil {
		return fmt.Errorf("the runner's state folder: %w", err)
	}
	h.held = held
	g, err := newCgroups(filepath.Base(folder), rootless)
	if err != nil {
		h.noCgroups = err
	} else if err := os.WriteFile(filepath.Join(folder, cgroupFile), []byte(g.dir), 0o600); err != nil {
		return err
	}
	h.lacks = lacksOf(image, rootless, h.noCgroups)
	if err = h.level.Check(h.lacks); err == nil {
		h.sandboxes, err = newSandboxes(engine, folder, r, g, rootless)
	}
	if err != nil {
		h.sandboxes = nil
		return errors.Join(err, g.close(), os.RemoveAll(folder))
	}
	return nil
}

// close ends every computer and removes the folder.
func (h *host) close() error {
	close(h.quit)
	h.work.Wait()
	var err error
	if h.sandboxes != nil {
		err = h.sandboxes.close()
	}
	if h.held != nil {
		err = errors.Join(err, h.held.Close())
	}
	return err
}

// serve takes requests until the server is gone. Each has a goroutine of its own: the server bounds how many there are.
func (h *host) serve() {
	b := make([]byte, maxPacket)
	for {
		n, files, err := h.server.receive(b)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				h.log.Error("the server's socket failed", "error", err)
			}
			return
		}
		var r request
		if err := json.Unmarshal(b[:n], &r); err != nil {
			closeAll(files)
			h.log.Error("a request that is none", "error", err)
			return
		}
		if r.Op == opCancel {
			h.cancel(r)
			continue
		}
		h.work.Go(func() {
			resp := h.handle(r, files)
			closeAll(files)
			resp.Seq = r.Seq
			h.answer(resp)
		})
	}
}

func (h *host) answer(r response) {
	err := h.server.sendJSON(r)
	if err != nil && r.Seq != 0 { // too large, say
		err = h.server.sendJSON(response{Seq: r.Seq, Fault: faultUnavailable, Message: err.Error()[:min(len(err.Error()), 200)]})
	}
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		h.log.Error("an answer could not be sent", "error", err)
	}
}

func (h *host) handle(r request, files []*os.File) response {
	if h.broken != nil {
		return failed(faultNotConfigured, h.broken)
	}
	switch r.Op {
	case opCheck:
		return h.check()
	case opStart:
		return h.start(r)
	}
	h.mu.Lock()
	c := h.computers[r.Computer]
	h.mu.Unlock()
	if c == nil {
		return failed(faultLost, nil)
	}
	switch {
	case (r.Op == opFiles || r.Op == opPackage) && len(files) == 1, r.Op == opRead && len(files) == 2, r.Op == opCall && len(files) == 4:
		return c.do(r, files)
	case r.Op == opProcesses:
		return c.processes()
	case r.Op == opClose:
		c.close()
		return response{}
	}
	return failed(faultInvalid, errors.New("no such request"))
}

// check says what there is, without making a computer.
func (h *host) check() response {
	r, err := h.report()
	if err != nil {
		h.log.Error("the image cannot be read", "error", err)
		return failed(faultNotConfigured, errors.New("the image cannot be read"))
	}
	return response{Report: &r, Build: Build()}
}

// describe says what computers are made of and how they are bounded, all but what is found by running something in one.
func (h *host) describe() (Report, error) {
	r := Report{Gvisor: h.sandboxes.engine.Version(), Platform: platform, Fallback: h.sandboxes.root.Image == "", Rootless: h.sandboxes.rootless,
		Lacks: h.lacks}
	r.MemoryLimit = "a cgroup for each computer, and an address space limit for each process"
	if h.noCgroups != nil {
		r.MemoryLimit = "a look at each computer ten times a second, and an address space limit for each process; no cgroup: " + h.noCgroups.Error()
	}
	var err error
	if !r.Fallback {
		r.Digest, err = fileDigest(h.sandboxes.root.Image)
	}
	return r, err
}

// start makes a computer and waits for its init.
func (h *host) start(r request) response {
	if r.Spec == nil || CheckSpec(*r.Spec) != nil {
		return failed(faultInvalid, errors.New("the computer's spec"))
	}
	spec := *r.Spec
	h.mu.Lock()
	_, twice := h.computers[spec.ID]
	full := len(h.computers) >= h.limit
	var c *hosted
	if !twice && !full {
		if c = h.spare(spec); c == nil {
			c = h.newHosted(spec)
		}
		h.computers[spec.ID] = c
	}
	h.mu.Unlock()
	switch {
	case twice:
		return failed(faultInvalid, errors.New("a computer with this id is there already"))
	case full:
		return failed(faultUnavailable, fmt.Errorf("%d computers are up already", h.limit))
	}
	if err := c.boot(); err != nil {
		h.mu.Lock()
		delete(h.computers, spec.ID)
		h.mu.Unlock()
		h.log.Error("a computer could not be made", "computer", spec.ID, "error", err)
		return failed(faultUnavailable, errors.New("the sandbox did not start"))
	}
	confinement, err := h.confined(c)
	if err != nil {
		c.close()
		return failed(faultNotConfigured, err)
	}
	h.work.Go(h.fill)
	report, err := h.report()
	if err != nil {
		h.log.Error("the image cannot be read", "error", err)
	}
	return response{Isolation: h.sandboxes.isolationOf(spec, report), Confinement: &confinement}
}

// confined looks at how the kernel confines a computer's sandbox; an error says that it is less than the level asks for.
func (h *host) confined(c *hosted) (Confinement, error) {
	confinement, err := readConfinement(c.sandbox.hosts()[0])
	if errors.Is(err, os.ErrNotExist) { // it has ended since, which is told otherwise
		return confinement, nil
	}
	if err != nil {
		return confinement, err
	}
	return confinement, h.level.Check(confinement.lacks())
}

func (h *host) newHosted(spec Spec) *hosted {
	return &hosted{host: h, spec: spec, name: spec.ID, booted: make(chan struct{}), closed: make(chan struct{}), ready: make(chan struct{}), answers: make(chan string), ends: make(chan string),
		gone: make(chan struct{}), cancels: map[uint64]chan struct{}{}}
}

// spare takes a waiting computer that fits the spec, and gives it its name; nil where there is none. h.mu is held.
func (h *host) spare(spec Spec) *hosted {
	for i, c := range h.waiting {
		select {
		case <-c.gone: // it died waiting
			continue
		default:
		}
		if fits := (Spec{ID: c.spec.ID}).withDefaults(); c.spec == fits && (Spec{ID: c.spec.ID, MemoryBytes: spec.MemoryBytes,
			WorkspaceBytes: spec.WorkspaceBytes, HomeBytes: spec.HomeBytes, TmpBytes: spec.TmpBytes, ScriptsBytes: spec.ScriptsBytes, Processes: spec.Processes}) == fits {
			h.waiting = append(h.waiting[:i], h.waiting[i+1:]...)
			c.name = spec.ID
			return c
		}
	}
	return nil
}

var errUnwanted = errors.New("it was closed before it was there")

// bootTurn waits until a computer may be booted, in the order of coming: booting is work for a processor, and more at once than there are of them would
// have all of them be late, and the first ones come no sooner than the last.
func (h *host) bootTurn(c *hosted) error {
	select {
	case h.boots <- struct{}{}:
		return nil
	case <-c.closed:
		return errUnwanted
	case <-h.quit:
		return errUnwanted
	}
}

// fill boots spares, one after another, until there are enough. It begins when a computer has been made: where none
// can be, none is tried again and again.
func (h *host) fill() {
	for {
		h.mu.Lock()
		if h.filling || len(h.waiting) >= h.spares || h.quitting() || !roomForSpare() {
			h.mu.Unlock()
			return
		}
		h.filling = true
		h.made++
		c := h.newHosted(Spec{ID: fmt.Sprintf("spare-%d", h.made)}.withDefaults())
		c.name = "" // nobody's yet; the sandbox's own name is one that no Spec can have
		h.mu.Unlock()
		err := c.boot()
		h.mu.Lock()
		h.filling = false
		if err == nil {
			h.waiting = append(h.waiting, c)
		}
		h.mu.Unlock()
		if err != nil {
			h.log.Error("a spare computer could not be made", "error", err)
			return
		}
	}
}

// spareRoom is how much memory has to be available for a spare to be made: a computer's, so that one which waits takes nothing from one that runs.
const spareRoom = DefaultMemoryBytes + sandboxOverhead

// roomForSpare says whether the machine has memory for it; where that is not known it has.
func roomForSpare() bool {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return true
	}
	for l := range strings.Lines(string(b)) {
		if f := strings.Fields(l); len(f) > 1 && f[0] == "MemAvailable:" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			return err != nil || kib<<10 >= spareRoom
		}
	}
	return true
}

func (h *host) quitting() bool {
	select {
	case <-h.quit:
		return true
	default:
		return false
	}
}

// cancel passes a call's cancelling on; a call that has ended does not mind.
func (h *host) cancel(r request) {
	h.mu.Lock()
	c := h.computers[r.Computer]
	h.mu.Unlock()
	if c != nil {
		close(c.cancelOf(r.Seq))
	}
}

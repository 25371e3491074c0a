package runner

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// growth measures by how much a computer's memory grew, at the most, while something was done, as the host counts it. A program can keep the usage
// of its children from its init (it ignores SIGCHLD); it cannot keep it from the host.
type growth interface {
	// begin begins to measure anew.
	begin()
	// grown is the most since begin, in bytes; 0 where nothing is known. It holds on when the sandbox has ended.
	grown() int64
	// end ends what begin began.
	end()
}

// peak is the state of a cgroup's growth.
type peak struct {
	mu     sync.Mutex
	file   *os.File // of the group's largest usage
	base   int64    // used when it began
	before int64    // the largest usage then: what is not more is of earlier
	last   int64
}

// begin implements growth. What the kernel calls the largest usage begins anew: in version 1 for the group, in version 2 for whoever has the
// file open, and where the kernel is older than 6.12 not at all.
func (c *cgroup) begin() {
	if c == nil {
		return
	}
	now, most := "memory.usage_in_bytes", "memory.max_usage_in_bytes"
	if c.v2 {
		now, most = "memory.current", "memory.peak"
	}
	p := &c.peak
	p.mu.Lock()
	defer p.mu.Unlock()
	p.close()
	p.last = 0
	name := filepath.Join(c.dir, most)
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err == nil {
		_, _ = f.WriteAt([]byte("0"), 0)
	} else if f, err = os.Open(name); err != nil {
		return
	}
	p.file = f
	b, _ := os.ReadFile(filepath.Join(c.dir, now))
	p.base, p.before = number(b), p.read()
}

// grown implements growth.
func (c *cgroup) grown() int64 {
	if c == nil {
		return 0
	}
	p := &c.peak
	p.mu.Lock()
	defer p.mu.Unlock()
	if most := p.read(); most > p.before && most > p.base {
		p.last = most - p.base
	}
	return p.last
}

// end implements growth.
func (c *cgroup) end() {
	if c != nil {
		c.peak.mu.Lock()
		defer c.peak.mu.Unlock()
		c.peak.close()
	}
}

// close closes the file; p.mu is held.
func (p *peak) close() {
	if p.file != nil {
		p.file.Close()
		p.file = nil
	}
}

// read is the largest usage, 0 where it is not known: a group that was removed has none. p.mu is held.
func (p *peak) read() int64 {
	if p.file == nil {
		return 0
	}
	var b [32]byte
	n, err := p.file.ReadAt(b[:], 0)
	if err != nil && err != io.EOF {
		return 0
	}
	return number(b[:n])
}

// number is a file's number, 0 where it has none.
func number(b []byte) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n
}

package jsonschema

import (
	"errors"
	"runtime"
)

const (
	// maxSteps is how much one check may cost. A step is some 4 ns of work: an instruction of a pattern at one character, or the
	// looking at 8 bytes; to apply one schema to one value costs costApply.
	maxSteps = 64_000_000
	// maxMemory is how many bytes a check may hold at a time, besides the arguments as they were read.
	maxMemory = 24 << 20
	// maxFrames is how many schemas may be in the middle of being applied: it bounds the stack.
	maxFrames = 4096

	costApply  = 20
	costMember = 8
	costNumber = 20
	costDigest = 40
	costText   = 8 // bytes that are looked at in a step
)

var errSpent = errors.New("jsonschema: the budget is spent")

// meter counts what a check costs, and panics with errSpent where that is too much: see guarded.
type meter struct {
	limits
	steps, memory, frames int
	peak                  int // the most memory
}

// limits are a check's.
type limits struct{ steps, memory, frames int }

var usual = limits{maxSteps, maxMemory, maxFrames}

// spend counts steps.
func (m *meter) spend(steps int) {
	if m.steps += steps; m.steps > m.limits.steps {
		panic(errSpent)
	}
}

// look counts the looking at so many bytes.
func (m *meter) look(length int) { m.spend(1 + length/costText) }

// hold counts memory until it is released. To make it costs steps too.
func (m *meter) hold(size int) {
	m.look(size)
	m.memory += size
	if m.peak = max(m.peak, m.memory); m.memory > m.limits.memory {
		panic(errSpent)
	}
}

func (m *meter) release(size int) { m.memory -= size }

// enter counts one more schema in the middle of being applied, until leave.
func (m *meter) enter() {
	m.spend(costApply)
	if m.frames++; m.frames > m.limits.frames {
		panic(errSpent)
	}
}

func (m *meter) leave() { m.frames-- }

// guarded runs work, and answers whether the budget lasted.
func guarded(work func()) (lasted bool) {
	defer func() {
		if r := recover(); r == errSpent { //nolint:errorlint // it is this very value
			lasted = false
		} else if r != nil {
			panic(r)
		}
	}()
	work()
	return true
}

// small is up to which size a text is checked at once. A larger one may take some 64 MiB, and waits until it is one of as few as there
// are processors: more of them would be no faster together, and take memory without bound.
const small = 32 << 10

// large are the larger texts that are checked now. Each of them ends soon: all work is bounded.
var large = make(gate, max(2, runtime.GOMAXPROCS(0)))

type gate chan struct{}

// turn waits for the turn of a text of this size.
func (g gate) turn(size int) (done func()) {
	if size <= small {
		return func() {}
	}
	g <- struct{}{}
	return func() { <-g }
}

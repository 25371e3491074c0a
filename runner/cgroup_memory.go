package runner

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// TryMemoryCgroup makes a memory cgroup as a runner process does at its start, and removes it again. An error says why there is none.
func TryMemoryCgroup() error {
	g, err := newCgroups(fmt.Sprintf("try-%d-%d", os.Getpid(), time.Now().UnixNano()), os.Geteuid() != 0)
	if err != nil {
		return err
	}
	c, err := g.make("one", minMemory)
	if err == nil {
		err = c.remove()
	}
	return errors.Join(err, g.close())
}

// SandboxOverheadBytes is what gVisor itself may take of a computer's memory cgroup, beside Spec.MemoryBytes.
const SandboxOverheadBytes = sandboxOverhead

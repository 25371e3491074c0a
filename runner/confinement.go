package runner

import (
	"fmt"
	"os"
	"strings"
)

// Confinement is how the host's kernel confines the sandbox's own process, in which gVisor stands between programs and the host: what is
// left to somebody who broke out of gVisor into it.
type Confinement struct {
	// Seccomp is true where only the system calls that gVisor needs are let through.
	Seccomp bool
	// NoNewPrivileges is true where it cannot gain privileges by executing a file.
	NoNewPrivileges bool
	// Capabilities are its effective ones, in hexadecimal; empty for none.
	Capabilities string
	// UID is its user on the host, or in the server's user namespace where the server is not root.
	UID string
}

// readConfinement looks at a process of this machine.
func readConfinement(pid int) (Confinement, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Confinement{}, err
	}
	return confinementOf(string(b)), nil
}

// confinementOf reads /proc/<pid>/status. What is not in it (a kernel without seccomp) is not there.
func confinementOf(status string) (c Confinement) {
	for l := range strings.Lines(status) {
		name, value, _ := strings.Cut(l, ":")
		f := strings.Fields(value)
		if len(f) == 0 {
			continue
		}
		switch name {
		case "Seccomp":
			c.Seccomp = f[0] == "2"
		case "NoNewPrivs":
			c.NoNewPrivileges = f[0] == "1"
		case "CapEff":
			c.Capabilities = strings.TrimLeft(f[0], "0")
		case "Uid":
			c.UID = f[min(1, len(f)-1)] // the effective one
		}
	}
	return c
}

// lacks are what is missing of it.
func (c Confinement) lacks() []Lack {
	var words []string
	if !c.Seccomp {
		words = append(words, "no seccomp filter")
	}
	if !c.NoNewPrivileges {
		words = append(words, "it may gain privileges")
	}
	if c.Capabilities != "" {
		words = append(words, "it has capabilities")
	}
	if c.UID == "0" || c.UID == "" {
		words = append(words, "it is root in its user namespace")
	}
	if len(words) == 0 {
		return nil
	}
	return []Lack{{PartProcess, "of the sandbox's own process: " + strings.Join(words, ", ")}}
}

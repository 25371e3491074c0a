package runner

import (
	"fmt"
	"slices"
	"strings"
)

// IsolationLevel says how much of isolation a configuration asks for. Where less is found, no computer is made.
type IsolationLevel string

// The levels.
const (
	// IsolationAny takes what the machine offers. Programs run in gVisor computers at every level; what is missing beyond that is in Report.Lacks.
	IsolationAny IsolationLevel = "any"
	// IsolationImage asks for computers that are made of an image, and see nothing of this machine's files.
	IsolationImage IsolationLevel = "image"
	// IsolationFull asks for all that there is: no Lack of any part.
	IsolationFull IsolationLevel = "full"
)

// IsolationLevels are all of them, the least one first.
func IsolationLevels() []IsolationLevel {
	return []IsolationLevel{IsolationAny, IsolationImage, IsolationFull}
}

// IsolationPart is one part of full isolation.
type IsolationPart string

// The parts.
const (
	// PartImage: the computers' root is an image.
	PartImage IsolationPart = "image"
	// PartRoot: the server is root, so that the sandbox's own process can be another user, without capabilities.
	PartRoot IsolationPart = "root"
	// PartMemory: a cgroup holds the memory of each whole computer.
	PartMemory IsolationPart = "memory cgroup"
	// PartProcess: the sandbox's own process on the host is confined (see Confinement).
	PartProcess IsolationPart = "confined process"
)

// Lack is a part of full isolation that is not there.
type Lack struct {
	Part IsolationPart `json:"part"`
	// Why says it in words that are safe to show.
	Why string `json:"why"`
}

// Missing are the lacks that the level does not allow, in order.
func (l IsolationLevel) Missing(lacks []Lack) (missing []Lack) {
	for _, lack := range lacks {
		if l == IsolationFull || l == IsolationImage && lack.Part == PartImage {
			missing = append(missing, lack)
		}
	}
	return missing
}

// Check says that the level is not to be had: an error that wraps ErrNotConfigured and names what is missing. A level that there is not
// is never to be had; an empty one is IsolationAny.
func (l IsolationLevel) Check(lacks []Lack) error {
	if l != "" && !slices.Contains(IsolationLevels(), l) {
		return fmt.Errorf("%w: there is no isolation %q", ErrNotConfigured, string(l))
	}
	missing := l.Missing(lacks)
	if len(missing) == 0 {
		return nil
	}
	words := make([]string, 0, len(missing))
	for _, m := range missing {
		words = append(words, fmt.Sprintf("%s (%s)", m.Part, m.Why))
	}
	return fmt.Errorf("%w: isolation %q is asked for, and missing here: %s", ErrNotConfigured, string(l), strings.Join(words, "; "))
}

// lacksOf is what is known to be missing before a sandbox was made.
func lacksOf(image string, rootless bool, noCgroups error) (lacks []Lack) {
	if image == "" {
		lacks = append(lacks, Lack{PartImage, "computers are made of this machine's own /usr, read-only"})
	}
	if rootless {
		lacks = append(lacks, Lack{PartRoot, "the server is not root"})
	}
	if noCgroups != nil {
		lacks = append(lacks, Lack{PartMemory, noCgroups.Error()})
	}
	return lacks
}

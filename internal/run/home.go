package run

import (
	"slices"

	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// Where things are in a computer, and whose.
const (
	// Workspace is the home of a run without an agent, and where every call has a folder of its own.
	Workspace = "/workspace"
	// sharedDirectory: everybody may make files there, nobody may touch another's. Managed files (root's) are so safe from scripts.
	sharedDirectory = 0o1777
	managedFile     = 0o444
)

// Home is an agent's home in a computer.
func Home(agentID string) string { return "/home/" + agentID }

// homeFile is a script's version that should be, or is, in a home.
type homeFile struct {
	Name      string
	VersionID string
	live      int // 1: not of the snapshot
}

// plan is what brings a home to what it should hold.
type plan struct {
	write  []homeFile // in the order in which they were asked for
	remove []homeFile // for who wants to know: prune removes them
	keep   []string
}

// planHome compares what a home holds by our book (name to version id) with what it should hold: the snapshot's scripts, then the live
// ones whose names are absent from it (S1-mat, S1-matlive). What is in neither set goes (S1-matprune).
func planHome(holds map[string]string, should []homeFile) plan {
	var p plan
	wanted := make(map[string]bool, len(should))
	for _, f := range should {
		wanted[f.Name] = true
		p.keep = append(p.keep, f.Name+".py")
		if holds[f.Name] != f.VersionID {
			p.write = append(p.write, f)
		}
	}
	for name, version := range holds {
		if !wanted[name] {
			p.remove = append(p.remove, homeFile{Name: name, VersionID: version})
		}
	}
	slices.SortFunc(p.remove, func(a, b homeFile) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return p
}

// homeFolders makes the home and its folder of scripts (root's, mode 1777).
func homeFolders(home string) []runner.FileChange {
	return []runner.FileChange{
		{Op: runner.FileMkdir, Path: home, Mode: sharedDirectory},
		{Op: runner.FileMkdir, Path: home + "/scripts", Mode: sharedDirectory},
	}
}

// ScriptFile puts one script in place, atomically: whatever stands there is replaced and not followed.
func ScriptFile(home, name, source string) runner.FileChange {
	return runner.FileChange{Op: runner.FileWrite, Path: home + "/" + script.Path(name), Mode: managedFile, Content: []byte(source)}
}

// prune removes the managed files whose names are not kept (S1-matprune). Files that the agent made itself stay.
func prune(home string, keep []string) runner.FileChange {
	return runner.FileChange{Op: runner.FilePrune, Path: home + "/scripts", Suffix: ".py", Keep: keep}
}

// changes are the file changes of a plan; sources are by version id. The order is the seed's: write, then remove.
func (p plan) changes(home string, sources map[string]string) []runner.FileChange {
	all := homeFolders(home)
	for _, f := range p.write {
		all = append(all, ScriptFile(home, f.Name, sources[f.VersionID]))
	}
	return append(all, prune(home, p.keep))
}

// changesAtOnce is how many changes of files go in one batch.
const changesAtOnce = 1000

// batches splits changes so that none passes what a computer takes at once; there is always a last one.
func batches(changes []runner.FileChange, limit int) [][]runner.FileChange {
	var all [][]runner.FileChange
	size, start := 0, 0
	for i, c := range changes {
		if (size > 0 && size+len(c.Content) > limit) || i-start == changesAtOnce {
			all = append(all, changes[start:i])
			size, start = 0, i
		}
		size += len(c.Content)
	}
	return append(all, changes[start:])
}

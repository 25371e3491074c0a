package runnertest

import (
	"bytes"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/scriptorium-dev/scriptorium/runner"
)

type fakeEntry struct {
	dir     bool
	target  string // of a link
	mode    uint32
	uid     int
	content []byte
}

// fakeFiles are a computer's files, by path.
type fakeFiles struct {
	mu      sync.Mutex
	entries map[string]*fakeEntry
}

func newFakeFiles() *fakeFiles {
	f := &fakeFiles{entries: map[string]*fakeEntry{}}
	for _, d := range []string{"/workspace", "/home", "/tmp"} {
		f.entries[d] = &fakeEntry{dir: true, mode: 0o1777}
	}
	f.entries[runner.Scripts] = &fakeEntry{dir: true, mode: 0o555}
	return f
}

func (f *fakeFiles) apply(changes []runner.FileChange) (runner.FileReport, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var rep runner.FileReport
	for _, c := range changes {
		switch c.Op {
		case runner.FileWrite:
			f.remove(c.Path)
			f.parents(c.Path)
			f.entries[c.Path] = &fakeEntry{mode: c.Mode, uid: c.UID, content: bytes.Clone(c.Content)}
		case runner.FileLink:
			f.remove(c.Path)
			f.parents(c.Path)
			f.entries[c.Path] = &fakeEntry{mode: 0o777, uid: c.UID, target: c.Target}
		case runner.FileMkdir:
			if e := f.entries[c.Path]; e != nil && !e.dir {
				f.remove(c.Path)
			}
			f.parents(c.Path)
			f.entries[c.Path] = &fakeEntry{dir: true, mode: c.Mode, uid: c.UID}
		case runner.FileRemove:
			f.remove(c.Path)
		case runner.FilePrune:
			rep.Removed = append(rep.Removed, f.prune(c)...)
		}
	}
	return rep, nil
}

func (f *fakeFiles) prune(c runner.FileChange) (removed []string) {
	for p, e := range f.entries {
		name := path.Base(p)
		if path.Dir(p) == c.Path && !e.dir && e.uid == 0 && strings.HasSuffix(name, c.Suffix) && !slices.Contains(c.Keep, name) {
			delete(f.entries, p)
			removed = append(removed, p)
		}
	}
	slices.Sort(removed)
	return removed
}

func (f *fakeFiles) parents(p string) {
	for d := path.Dir(p); d != "/"; d = path.Dir(d) {
		if e := f.entries[d]; e == nil || !e.dir {
			f.entries[d] = &fakeEntry{dir: true, mode: 0o755}
		}
	}
}

func (f *fakeFiles) remove(p string) {
	for q := range f.entries {
		if q == p || strings.HasPrefix(q, p+"/") {
			delete(f.entries, q)
		}
	}
}

func (f *fakeFiles) read(p string) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entries[p]
	if e == nil || e.dir {
		return nil, false
	}
	return bytes.Clone(e.content), true
}

// put is a program's own write: it cannot change a file of root's.
func (f *fakeFiles) put(p string, content []byte, mode uint32, uid int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.entries[p]; e != nil && (e.dir || e.uid != uid) {
		return false
	}
	if d := f.entries[path.Dir(p)]; d == nil || !d.dir || (d.uid != uid && d.mode&0o002 == 0) {
		return false
	}
	f.entries[p] = &fakeEntry{mode: mode, uid: uid, content: bytes.Clone(content)}
	return true
}

// readOut is Read: entries in order, folders before what is in them.
func (f *fakeFiles) readOut(r runner.Read, sink runner.EntrySink) (rep runner.ReadReport, err error) {
	f.mu.Lock()
	entries := map[string]*fakeEntry{}
	for p, e := range f.entries {
		if name, below := strings.CutPrefix(p, r.Path+"/"); below && (r.Recursive || !strings.Contains(name, "/")) {
			entries[name] = e
		}
	}
	f.mu.Unlock()
	names := slices.SortedFunc(maps.Keys(entries), func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
	files, left := r.MaxFiles, r.MaxBytes
	for _, name := range names {
		if rep.Entries == r.MaxEntries {
			rep.Truncated = true
			break
		}
		rep.Entries++
		e := entries[name]
		entry := runner.Entry{Path: name, Type: runner.EntryFile, Mode: e.mode & 0o1777, UID: e.uid, Links: 1, Size: int64(len(e.content)), Target: e.target}
		var content io.Reader
		switch {
		case e.dir:
			entry.Type, entry.Size = runner.EntryFolder, 0
		case e.target != "":
			entry.Type, entry.Size = runner.EntryLink, int64(len(e.target))
		case files > 0 && entry.Size <= min(r.MaxFileBytes, left):
			files, left, content = files-1, left-entry.Size, bytes.NewReader(e.content)
		}
		if err := sink(entry, content); err != nil {
			return rep, err
		}
	}
	return rep, nil
}

func (f *fakeFiles) list() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var l []string
	for p, e := range f.entries {
		if !e.dir {
			l = append(l, p)
		}
	}
	slices.Sort(l)
	return l
}

// holds says whether anything is in a folder.
func (f *fakeFiles) holds(folder string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p := range f.entries {
		if strings.HasPrefix(p, folder+"/") {
			return true
		}
	}
	return false
}

package runnertest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// compare has a package's folder hold nothing but files of its own: missing are the indexes of those that are not there, removed counts what
// was no part of it.
func (f *fakeFiles) compare(p runner.Package) (missing []int, removed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	files, folders := map[string]int{}, map[string]bool{runner.Scripts: true, path.Dir(p.Path): true, p.Path: true}
	for i, file := range p.Files {
		full := p.Path + "/" + file.Path
		files[full] = i
		for d := path.Dir(full); d != p.Path; d = path.Dir(d) {
			folders[d] = true
		}
	}
	for _, name := range f.below(p.Path) {
		e := f.entries[name]
		i, isFile := files[name]
		switch {
		case e == nil: // gone with the folder that it was in
		case isFile && !e.dir && e.target == "" && e.mode == 0o444 && e.uid == 0 && sha256.Sum256(e.content) == p.Files[i].SHA256:
			delete(files, name)
		case !isFile && !folders[name]:
			removed++
			f.remove(name)
		case isFile || !e.dir:
			f.remove(name)
		}
	}
	for d := range folders {
		if e := f.entries[d]; e == nil || !e.dir || e.mode != 0o555 || e.uid != 0 {
			f.entries[d] = &fakeEntry{dir: true, mode: 0o555}
		}
	}
	for _, i := range files {
		missing = append(missing, i)
	}
	slices.Sort(missing)
	return missing, removed
}

// below are the paths in a folder, each folder's before those in it.
func (f *fakeFiles) below(folder string) (names []string) {
	for name := range f.entries {
		if strings.HasPrefix(name, folder+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// putFile writes a package's file.
func (f *fakeFiles) putFile(p runner.Package, i int, open func(int) (io.ReadCloser, error)) error {
	file := &p.Files[i]
	r, err := open(i)
	if err != nil {
		return fmt.Errorf("the package's file %q: %w", file.Path, err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("the package's file %q: %w", file.Path, err)
	}
	if int64(len(content)) != file.Size || sha256.Sum256(content) != file.SHA256 {
		return fmt.Errorf("%w: %q", runner.ErrDamaged, file.Path)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entries[p.Path+"/"+file.Path] = &fakeEntry{mode: 0o444, content: content}
	return nil
}

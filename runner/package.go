package runner

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Scripts is a folder for packages of files, a file system of its own with Spec.ScriptsBytes: a program that fills /workspace does not keep a package
// from being written. It is root's, and programs can write neither there nor above it, where Node looks for modules and for what kind of module a file is.
const Scripts = "/scripts"

// The bounds of one package.
const (
	// MaxPackageFiles bounds its files.
	MaxPackageFiles = 1_000
	// MaxPackageBytes bounds all of them together.
	MaxPackageBytes = 64 << 20
	// maxPackageDepth bounds the names in one path.
	maxPackageDepth = 256
)

// ErrDamaged: what was given as a package's file is not what its size and digest say. Nothing of it reached the computer, where the package is not
// whole now: it must not be run.
var ErrDamaged = errors.New("a file of the package is damaged")

// PackageFile is one file of a package.
type PackageFile struct {
	// Path is relative and clean, of names of at most 255 bytes each.
	Path string
	// SHA256 and Size are its content's.
	SHA256 [32]byte
	Size   int64
}

// Package is a folder of root's that is to hold exactly these files, with mode 0444, in folders with mode 0555.
type Package struct {
	// Path is Scripts/NAME/NUMBER.
	Path  string
	Files []PackageFile
}

// PackageReport tells what a package's folder lacked.
type PackageReport struct {
	// Written counts the files that were written: all of them the first time, none where nothing differs.
	Written int
	// Removed counts what was there and is not the package's; a folder with all that is in it is one.
	Removed int
}

// CheckPackage says why a package would be refused; the error wraps ErrInvalid or ErrTooLarge.
func CheckPackage(p Package) error {
	names, below := strings.CutPrefix(p.Path, Scripts+"/")
	if !below || path.Clean(p.Path) != p.Path || strings.Count(names, "/") != 1 || badName(names) {
		return fmt.Errorf("%w: a package at %q", ErrInvalid, p.Path)
	}
	if len(p.Files) > MaxPackageFiles {
		return fmt.Errorf("%w: %d files in a package", ErrTooLarge, len(p.Files))
	}
	isFile, total := map[string]bool{}, int64(0)
	for i := range p.Files {
		f := &p.Files[i]
		if path.Clean(f.Path) != f.Path || strings.HasPrefix(f.Path, "/") || f.Path == "." || f.Path == ".." || strings.HasPrefix(f.Path, "../") ||
			badName(f.Path) || isFile[f.Path] || f.Size < 0 {
			return fmt.Errorf("%w: file %d of a package, %q", ErrInvalid, i, f.Path)
		}
		isFile[f.Path] = true
		if total += min(f.Size, MaxPackageBytes+1); total > MaxPackageBytes {
			return fmt.Errorf("%w: a package of more than %d bytes", ErrTooLarge, MaxPackageBytes)
		}
	}
	for i := range p.Files {
		for d := path.Dir(p.Files[i].Path); d != "."; d = path.Dir(d) {
			if isFile[d] {
				return fmt.Errorf("%w: %q is both a file and a folder of a package", ErrInvalid, d)
			}
		}
	}
	return nil
}

// badName says whether a relative path holds what no path on a computer can.
func badName(p string) bool {
	names := strings.Split(p, "/")
	return p == "" || strings.ContainsRune(p, 0) || len(p) > 3000 || len(names) > maxPackageDepth ||
		slices.ContainsFunc(names, func(n string) bool { return len(n) > 255 })
}

// Package implements Computer.
func (c *computer) Package(ctx context.Context, p Package, open func(i int) (io.ReadCloser, error)) (PackageReport, error) {
	if err := CheckPackage(p); err != nil {
		return PackageReport{}, err
	}
	if err := c.take(ctx); err != nil {
		return PackageReport{}, err
	}
	defer func() { <-c.turn }()
	resp, err := c.bulk(ctx, opPackage, packagePayload(p))
	if err == nil {
		err = c.fault(&resp, packageChanges(p))
	}
	if err != nil {
		return PackageReport{}, err
	}
	report := PackageReport{Removed: resp.Dropped}
	for next := resp.Missing; len(next) > 0 && err == nil; {
		var n int
		n, err = c.putSome(ctx, p, next, open)
		report.Written, next = report.Written+n, next[n:]
	}
	return report, err
}

// putBytes is about how much of contents is held at once, and goes to the computer in one request: storage may be slow, and while it is waited for
// the computer is not asked for anything.
const putBytes = 4 << 20

// putSome writes the first of the files that are missing, and says how many those are.
func (c *computer) putSome(ctx context.Context, p Package, missing []int, open func(i int) (io.ReadCloser, error)) (int, error) {
	var changes []FileChange
	size := int64(0)
	for _, i := range missing {
		if i < 0 || i >= len(p.Files) {
			return 0, fmt.Errorf("%w: it asks for a file that no package has", ErrLost)
		}
		f := &p.Files[i]
		if len(changes) > 0 && size+f.Size > putBytes {
			break
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		content, err := readWhole(f, func() (io.ReadCloser, error) { return open(i) })
		if err != nil {
			return 0, err
		}
		size += f.Size
		changes = append(changes, FileChange{Op: filePut, Path: p.Path + "/" + f.Path, Mode: 0o444, Content: content})
	}
	resp, err := c.bulk(ctx, opFiles, filesPayload(changes))
	if err == nil {
		err = c.fault(&resp, changes)
	}
	if err != nil {
		return 0, err
	}
	return len(changes), nil
}

// readWhole is a file's content, which is what its digest says.
func readWhole(f *PackageFile, open func() (io.ReadCloser, error)) (content []byte, err error) {
	r, err := open()
	if err != nil {
		return nil, fmt.Errorf("the package's file %q: %w", f.Path, err)
	}
	defer r.Close()
	content = make([]byte, f.Size)
	n, err := io.ReadFull(r, content)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: %q has %d bytes, not %d", ErrDamaged, f.Path, n, f.Size)
	case err != nil:
		return nil, fmt.Errorf("the package's file %q: %w", f.Path, err)
	}
	// A reader that knows its content's digest may say at the end that it is another.
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return nil, fmt.Errorf("%w: %q has more than %d bytes", ErrDamaged, f.Path, f.Size)
	case err != io.EOF:
		return nil, fmt.Errorf("the package's file %q: %w", f.Path, err)
	}
	if sha256.Sum256(content) != f.SHA256 {
		return nil, fmt.Errorf("%w: the content of %q is not what its digest says", ErrDamaged, f.Path)
	}
	return content, nil
}

// packagePayload encodes a package.
func packagePayload(p Package) *payload {
	b := &payload{}
	b.bytes([]byte(p.Path[len(Scripts)+1:]))
	b.num(int64(len(p.Files)))
	for i := range p.Files {
		b.bytes([]byte(p.Files[i].Path))
		b.num(p.Files[i].Size)
		b.bytes(p.Files[i].SHA256[:])
	}
	b.flush()
	return b
}

// packageChanges are what a fault of a package's index names: its folder.
func packageChanges(p Package) []FileChange { return []FileChange{{Op: FileMkdir, Path: p.Path}} }

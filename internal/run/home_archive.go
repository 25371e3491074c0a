package run

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// The bounds of a kept home. What passes them is left out and counted.
const (
	// MaxHomeEntries is how many files, folders and links of a home are kept.
	MaxHomeEntries = 5000
	// MaxHomeFileBytes is how large a file is kept.
	MaxHomeFileBytes = 32 << 20
	// MaxHomeBytes is how much of all files together is kept.
	MaxHomeBytes = 64 << 20
	// managedEntries may be there besides: the scripts of an agent that has as many as there may be, and their folder.
	managedEntries = 1001
	// maxArchiveBytes bounds an archive. On top of the files come, for each entry, its header and padding, and a long name and a long target with
	// theirs: 2 × (4 KiB and 512 bytes) and 4 × 512 bytes; and the end.
	maxArchiveBytes = MaxHomeBytes + MaxHomeEntries*(2*(4096+512)+4*512) + 64<<10
)

// homeCounts tells of an archive what is in it, and what is not.
type homeCounts struct {
	files   int // and folders and links
	bytes   int64
	leftOut int
}

// packHome writes what the agent itself made in its home, as tar in gzip. The managed files are root's and not in it: they are
// written anew for each run. Links are kept as links; nothing is followed.
func packHome(ctx context.Context, c runner.Computer, home string, w io.Writer) (homeCounts, error) {
	var n homeCounts
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed) // a computer waits for it
	if err != nil {
		return n, err
	}
	archive := tar.NewWriter(packed)
	report, err := c.Read(ctx, runner.Read{
		Path: home, Recursive: true, MaxEntries: MaxHomeEntries + managedEntries, MaxFiles: MaxHomeEntries + managedEntries, MaxFileBytes: MaxHomeFileBytes, MaxBytes: MaxHomeBytes,
	}, func(e runner.Entry, content io.Reader) error {
		if e.UID != runner.ScriptUser {
			return nil
		}
		h := headerOf(e, content)
		if n.files == MaxHomeEntries {
			h = nil
		}
		if h != nil {
			if _, err := changeOf(home, h); err != nil {
				h = nil // what could not be brought back, such as a path that is too long
			}
		}
		if h == nil {
			n.leftOut++
			return nil
		}
		n.files++
		n.bytes += h.Size
		if err := archive.WriteHeader(h); err != nil || content == nil {
			return err
		}
		_, err := io.Copy(archive, content)
		return err
	})
	if report.Truncated {
		n.leftOut++ // and whatever was not looked at
	}
	return n, errors.Join(err, archive.Close(), packed.Close())
}

// headerOf is an entry in the archive, nil where it is not kept. GNU's format takes names of any bytes.
func headerOf(e runner.Entry, content io.Reader) *tar.Header {
	h := &tar.Header{Name: e.Path, Mode: int64(e.Mode), Format: tar.FormatGNU}
	switch {
	case e.Type == runner.EntryFolder:
		h.Typeflag, h.Name = tar.TypeDir, e.Path+"/"
	case e.Type == runner.EntryLink:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.Target
	case e.Type == runner.EntryFile && content != nil:
		h.Typeflag, h.Size = tar.TypeReg, e.Size
	default:
		return nil
	}
	return h
}

// errBadArchive is an archive of a home that is none, or passes the bounds.
var errBadArchive = errors.New("run: a kept home cannot be read")

// unpackHome brings an archive's entries back below the home, in batches that a computer takes at once. What is in it was a program's doing: names,
// links, modes and sizes are checked again.
func unpackHome(home string, r io.Reader, put func([]runner.FileChange) error) error {
	packed, err := gzip.NewReader(io.LimitReader(r, maxArchiveBytes))
	if err != nil {
		return fmt.Errorf("%w: %w", errBadArchive, err)
	}
	archive := tar.NewReader(io.LimitReader(packed, maxArchiveBytes))
	changes := homeFolders(home)
	total, waiting := int64(0), int64(0)
	for n := 0; ; n++ {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return put(changes)
		}
		if err == nil {
			total += h.Size
		}
		if err != nil || n == MaxHomeEntries || h.Size > MaxHomeFileBytes || total > MaxHomeBytes {
			return fmt.Errorf("%w: %w", errBadArchive, errors.Join(err, fs.ErrInvalid))
		}
		if waiting+h.Size > filesAtOnce || len(changes) == changesAtOnce {
			if err := put(changes); err != nil {
				return err
			}
			changes, waiting = nil, 0
		}
		c, err := changeOf(home, h)
		if err == nil && c.Op == runner.FileWrite {
			c.Content, err = io.ReadAll(archive)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errBadArchive, err)
		}
		changes = append(changes, c)
		waiting += h.Size
	}
}

// changeOf is the change that brings an entry back, without a file's content.
func changeOf(home string, h *tar.Header) (runner.FileChange, error) {
	name := strings.TrimSuffix(h.Name, "/")
	c := runner.FileChange{Path: home + "/" + name, Mode: uint32(h.Mode) & 0o1777, UID: runner.ScriptUser, GID: runner.ScriptUser}
	if name == "" || path.Clean("/"+name) != "/"+name {
		return c, errors.New("a name that leads out of it")
	}
	switch h.Typeflag {
	case tar.TypeDir:
		c.Op = runner.FileMkdir
	case tar.TypeSymlink:
		c.Op, c.Target = runner.FileLink, h.Linkname
	case tar.TypeReg:
		c.Op, c.Mode = runner.FileWrite, c.Mode&0o777
	default:
		return c, errors.New("an entry of another kind")
	}
	return c, runner.CheckFiles([]runner.FileChange{c})
}

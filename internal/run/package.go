package run

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// Package is an organization's script in one of its versions.
type Package struct {
	Name      string // without script__
	Number    int
	VersionID string
}

// maxRemembered is how many versions' lists of files a machine remembers.
const maxRemembered = 100

// Package makes the package's folder on the computer hold exactly the version's files, whatever programs made of it, and answers the folder (S2-verify). Where
// it cannot, nothing may be run there.
func (m *Machine) Package(ctx context.Context, p Package) (folder string, err error) {
	files, err := m.filesOf(ctx, p)
	if err != nil {
		return "", errors.Join(runner.ErrUnavailable, err)
	}
	wanted := runner.Package{Path: runner.Scripts + "/" + p.Name + "/" + strconv.Itoa(p.Number), Files: make([]runner.PackageFile, len(files))}
	for i, f := range files {
		wanted.Files[i] = runner.PackageFile{Path: f.Path, Size: f.Size}
		if _, err := hex.Decode(wanted.Files[i].SHA256[:], []byte(f.SHA256)); err != nil {
			return "", errors.Join(runner.ErrUnavailable, fmt.Errorf("run: the digest of %s: %w", f.Path, err))
		}
	}
	_, err = m.computer.Package(ctx, wanted, func(i int) (io.ReadCloser, error) {
		return m.host.config.Files.OpenContent(ctx, files[i].SHA256, 0, -1)
	})
	switch {
	case err == nil || ctx.Err() != nil:
	case isRunners(err):
		m.drop()
	default: // a file could not be read here: the next call tries again
		err = errors.Join(runner.ErrUnavailable, err)
	}
	return wanted.Path, err
}

// filesOf reads the version's files, which never change: once for a machine.
func (m *Machine) filesOf(ctx context.Context, p Package) ([]script.VersionFile, error) {
	if files := m.packages[p.VersionID]; files != nil {
		return files, nil
	}
	files, err := script.FilesOfVersion(ctx, m.host.db.SQL(), m.OrganizationID, p.VersionID)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("run: version %s has no files", p.VersionID)
	}
	if len(m.packages) == maxRemembered {
		clear(m.packages)
	}
	m.packages[p.VersionID] = files
	return files, nil
}

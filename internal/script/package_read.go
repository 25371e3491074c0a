package script

import (
	"context"
	"net/url"
	"path"
	"strings"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// VersionFile is a file of a package's version (SDL: ScriptFile).
type VersionFile struct {
	VersionID string
	Path      string
	SHA256    string // lower-case hex
	Size      int64
}

// URL is where the file's bytes are had from.
func (f *VersionFile) URL() string {
	segments := strings.Split(f.Path, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return path.Join("/versions", f.VersionID, "files") + "/" + strings.Join(segments, "/")
}

// FilesOfVersion reads a version's files, by path bytewise. Whether who asks may see the version is the caller's matter.
func FilesOfVersion(ctx context.Context, q *database.Querier, organizationID, versionID string) ([]VersionFile, error) {
	rows, err := filesOfVersions(ctx, q, organizationID, []string{versionID})
	files := make([]VersionFile, len(rows))
	for i, f := range rows {
		files[i] = *f
	}
	return files, err
}

// Packages answers the organization's scripts of these names (without script__), nil: all, each with its latest version and its labels, by
// name, in two statements. With drafts: as a key with MANAGEMENT sees them, a draft where nothing is published.
func (*Service) Packages(ctx context.Context, q *database.Querier, organizationID string, names []string, drafts bool) ([]Entry, error) {
	entries, err := packageEntries(ctx, q, organizationID, validNames(names), names == nil, drafts)
	if err != nil {
		return nil, err
	}
	return entries, addLabels(ctx, q, organizationID, entries)
}

// PackageVersion answers the organization's script of the name with its version of the number, nil where there is none, or, without
// drafts, where it is one.
func (*Service) PackageVersion(ctx context.Context, q *database.Querier, organizationID, name string, number int, drafts bool) (*Entry, error) {
	entries, err := packageEntries(ctx, q, organizationID, validNames([]string{name}), false, drafts)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	versions, err := versionsByNumber(ctx, q, organizationID, []string{entries[0].Script.ID}, number, drafts)
	if err != nil || len(versions) == 0 {
		return nil, err
	}
	entries[0].Version = versions[0]
	return &entries[0], addLabels(ctx, q, organizationID, entries)
}

// addLabels reads the labels of the entries' scripts.
func addLabels(ctx context.Context, q *database.Querier, organizationID string, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.Script.ID
	}
	labels, err := labelsOf(ctx, q, organizationID, ids)
	for i := range entries {
		entries[i].Labels = labels[entries[i].Script.ID]
	}
	return err
}

// validNames are those of the names that a package can have: what a client sent may hold anything.
func validNames(names []string) []string {
	var valid []string
	for _, name := range names {
		if ValidPackageName(name) {
			valid = append(valid, name)
		}
	}
	return valid
}

// LatestByIDs is VersionsByIDs for the latest versions of scripts that are seen already: a draft is the latest only where nothing is
// published, and then who sees the script sees it.
func (s *Service) LatestByIDs(ctx context.Context, organizationID string, ids []string) (map[string]*Version, error) {
	rows, err := versionsByIDs(ctx, s.db.SQL(), organizationID, id.Only(id.Version, ids), true)
	return keyed(rows, func(v *Version) string { return v.ID }), err
}

// KeptOfVersions is KeptByIDs for the scripts of versions that are seen already.
func (s *Service) KeptOfVersions(ctx context.Context, organizationID string, ids []string) (map[string]*Script, error) {
	v, err := key.From(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := answered(ctx, s.db.SQL(), v, id.Only(id.Script, ids), true)
	return keyed(rows, func(s *Script) string { return s.ID }), err
}

// answered reads scripts for who writes them: a key without MANAGEMENT, which sees no drafts (S2-draft), has its own ones in the answer to what
// wrote them. A script of drafts alone is there what it is without those of others.
func answered(ctx context.Context, q *database.Querier, v *key.Viewer, ids []string, deleted bool) ([]*Script, error) {
	seen, err := byIDs(ctx, q, v.Organization.ID, ids, deleted, v.Has(key.Management))
	if err != nil || v.Has(key.Management) || len(seen) == len(ids) {
		return seen, err
	}
	own, err := ownDrafts(ctx, q, v.Organization.ID, v.Key.ID, ids, deleted)
	return append(seen, own...), err
}

// PackageByName answers the organization's script of the name as the viewer sees it; nil where there is none.
func (s *Service) PackageByName(ctx context.Context, organizationID, name string) (*Script, error) {
	entries, err := packageEntries(ctx, s.db.SQL(), organizationID, validNames([]string{name}), false, seesDrafts(ctx))
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	return entries[0].Script, nil
}

// LabelsOf answers, by the script's id, the labels of each of the scripts, in their order, in one statement.
func (s *Service) LabelsOf(ctx context.Context, organizationID string, scriptIDs []string) (map[string][]*Label, error) {
	return labelsOf(ctx, s.db.SQL(), organizationID, scriptIDs)
}

// FilesOf answers, by the version's id, the files of each of the versions, by path, in one statement.
func (s *Service) FilesOf(ctx context.Context, organizationID string, versionIDs []string) (map[string][]*VersionFile, error) {
	rows, err := filesOfVersions(ctx, s.db.SQL(), organizationID, versionIDs)
	found := map[string][]*VersionFile{}
	for _, f := range rows {
		found[f.VersionID] = append(found[f.VersionID], f)
	}
	return found, err
}

// FileAt answers, by the version's id, the file at the path in each of the versions, in one statement.
func (s *Service) FileAt(ctx context.Context, organizationID string, versionIDs []string, path string) (map[string]*VersionFile, error) {
	if checkPath("path", path) != nil {
		return nil, nil
	}
	rows, err := filesAt(ctx, s.db.SQL(), organizationID, versionIDs, path)
	return keyed(rows, func(f *VersionFile) string { return f.VersionID }), err
}

// FileOf answers the file at the path in a version of the viewer's organization; nil where there is none, or where it is a draft that the
// viewer's key may not see.
func (s *Service) FileOf(ctx context.Context, versionID, path string) (*VersionFile, error) {
	v, err := key.From(ctx)
	if err != nil {
		return nil, err
	}
	versions, err := s.VersionsByIDs(ctx, v.Organization.ID, []string{versionID})
	if err != nil || versions[versionID] == nil {
		return nil, err
	}
	files, err := s.FileAt(ctx, v.Organization.ID, []string{versionID}, path)
	return files[versionID], err
}

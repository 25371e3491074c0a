package script

import (
	"context"
	"database/sql"

	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
)

const fileColumns = "f.version_id, f.path, f.sha256, f.size"

// readFiles reads rows of fileColumns.
func readFiles(ctx context.Context, q *database.Querier, where string, args ...any) ([]*VersionFile, error) {
	var files []*VersionFile
	err := each(ctx, q, func(rows *sql.Rows) error {
		var f VersionFile
		files = append(files, &f)
		return rows.Scan(&f.VersionID, &f.Path, &f.SHA256, &f.Size)
	}, "SELECT "+fileColumns+" FROM version_files f WHERE f.organization_id = $1 AND "+where, args...)
	return files, err
}

// filesOfVersions reads the versions' files, each one's by path.
func filesOfVersions(ctx context.Context, q *database.Querier, organizationID string, versionIDs []string) ([]*VersionFile, error) {
	return readFiles(ctx, q, "f.version_id IN "+batch.In(q.Dialect(), 2)+" ORDER BY f.version_id, "+batch.Bytewise(q.Dialect(), "f.path"),
		organizationID, batch.List(versionIDs))
}

// filesAt reads the file at the path in each of the versions.
func filesAt(ctx context.Context, q *database.Querier, organizationID string, versionIDs []string, path string) ([]*VersionFile, error) {
	return readFiles(ctx, q, "f.path = $2 AND f.version_id IN "+batch.In(q.Dialect(), 3), organizationID, path, batch.List(versionIDs))
}

// labelsOf reads the scripts' labels, in their order.
func labelsOf(ctx context.Context, q *database.Querier, organizationID string, scriptIDs []string) (map[string][]*Label, error) {
	labels := map[string][]*Label{}
	err := each(ctx, q, func(rows *sql.Rows) error {
		var scriptID string
		var l Label
		if err := rows.Scan(&scriptID, &l.Name, &l.Value); err != nil {
			return err
		}
		labels[scriptID] = append(labels[scriptID], &l)
		return nil
	}, "SELECT l.script_id, l.name, l.value FROM script_labels l WHERE l.organization_id = $1 AND l.script_id IN "+batch.In(q.Dialect(), 2)+
		" ORDER BY l.script_id, l.position", organizationID, batch.List(scriptIDs))
	return labels, err
}

// packageEntries reads the organization's scripts of the names, or all, with their latest versions, by name. Of several of one name, which
// only drafts can be, it answers the one that is published, else the newest.
func packageEntries(ctx context.Context, q *database.Querier, organizationID string, names []string, all, drafts bool) ([]Entry, error) {
	where, args := live+" AND s.agent_id IS NULL", []any{organizationID}
	if !drafts {
		where += published
	}
	if !all {
		where, args = where+" AND s.name IN "+batch.In(q.Dialect(), 2), append(args, batch.List(names))
	}
	rows, err := readEntries(ctx, q, versionColumns, where+" ORDER BY "+batch.Bytewise(q.Dialect(), "s.name")+", s.published DESC, s.id DESC", args...)
	var entries []Entry
	for _, e := range rows {
		if n := len(entries); n == 0 || entries[n-1].Script.Name != e.Script.Name {
			entries = append(entries, e)
		}
	}
	return entries, err
}

package script

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/ent/db"
	"github.com/scriptorium-dev/scriptorium/ent/db/script"
	"github.com/scriptorium-dev/scriptorium/ent/db/scriptlabel"
	"github.com/scriptorium-dev/scriptorium/ent/db/version"
	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/page"
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

// entryFiles reads the file that each of the versions' entrypoints names.
func entryFiles(ctx context.Context, q *database.Querier, organizationID string, versionIDs []string) ([]*VersionFile, error) {
	return readFiles(ctx, q, "f.entry AND f.version_id IN "+batch.In(q.Dialect(), 2), organizationID, batch.List(versionIDs))
}

// lockOrganization takes the lock that all writers of the organization's scripts and changes share, until the transaction ends, and answers
// whether every version is a draft.
func lockOrganization(ctx context.Context, tx *database.Tx, organizationID string) (needsApproval bool, err error) {
	statement := "SELECT versions_need_approval FROM organizations WHERE id = $1"
	if tx.Dialect() == database.Postgres {
		statement += " FOR NO KEY UPDATE" // rows that name the organization can be written meanwhile
	}
	if err := tx.SQL().QueryRowContext(ctx, statement, organizationID).Scan(&needsApproval); err != nil {
		return false, fmt.Errorf("script: lock the organization: %w", err)
	}
	return needsApproval, nil
}

// lockScript locks a script's row until the transaction ends, so that no agent begins to name it.
func lockScript(ctx context.Context, tx *database.Tx, s *Script) error {
	_, err := tx.Ent().Script.Query().Where(script.OrganizationID(s.OrganizationID), script.ID(s.ID), database.ForUpdate).OnlyID(ctx)
	if err != nil {
		return fmt.Errorf("script: lock: %w", err)
	}
	return nil
}

// insertFiles writes a version's files.
func insertFiles(ctx context.Context, tx *database.Tx, v *Version, files []*VersionFile) error {
	rows := make([]*db.VersionFileCreate, len(files))
	for i, f := range files {
		rows[i] = tx.Ent().VersionFile.Create().SetOrganizationID(v.OrganizationID).SetVersionID(v.ID).SetPath(f.Path).SetSha256(f.SHA256).
			SetSize(f.Size).SetEntry(f.Path == v.Entrypoint[1])
	}
	if err := tx.Ent().VersionFile.CreateBulk(rows...).Exec(ctx); err != nil {
		return fmt.Errorf("version: write files: %w", err)
	}
	return nil
}

// replaceLabels writes a script's labels in place of those before.
func replaceLabels(ctx context.Context, tx *database.Tx, s *Script, labels []*Label) error {
	_, err := tx.Ent().ScriptLabel.Delete().Where(scriptlabel.OrganizationID(s.OrganizationID), scriptlabel.ScriptID(s.ID)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("script: remove labels: %w", err)
	}
	rows := make([]*db.ScriptLabelCreate, len(labels))
	for i, l := range labels {
		rows[i] = tx.Ent().ScriptLabel.Create().SetOrganizationID(s.OrganizationID).SetScriptID(s.ID).SetPosition(i).SetName(l.Name).SetValue(l.Value)
	}
	if err := tx.Ent().ScriptLabel.CreateBulk(rows...).Exec(ctx); err != nil {
		return fmt.Errorf("script: write labels: %w", err)
	}
	return nil
}

// newestKept reads the script's newest version that was not rejected; nil where all were.
func newestKept(ctx context.Context, tx *database.Tx, s *Script) (*Version, error) {
	versions, err := readVersions(ctx, tx.SQL(), "SELECT "+versionColumns+", 1 FROM "+versionTables+" WHERE "+owned+
		" AND v.script_id = $2 AND v.rejected_at IS NULL ORDER BY v.number DESC LIMIT 1", s.OrganizationID, s.ID)
	if err != nil || len(versions) == 0 {
		return nil, err
	}
	return versions[0], nil
}

// markPublished writes when a draft was published.
func markPublished(ctx context.Context, tx *database.Tx, v *Version) error {
	err := tx.Ent().Version.Update().Where(version.OrganizationID(v.OrganizationID), version.ID(v.ID)).SetPublishedAt(*v.PublishedAt).Exec(ctx)
	if err != nil {
		return fmt.Errorf("version: publish: %w", err)
	}
	return nil
}

// markRejected writes when a draft was rejected.
func markRejected(ctx context.Context, tx *database.Tx, v *Version) error {
	err := tx.Ent().Version.Update().Where(version.OrganizationID(v.OrganizationID), version.ID(v.ID)).SetRejectedAt(*v.RejectedAt).Exec(ctx)
	if err != nil {
		return fmt.Errorf("version: reject: %w", err)
	}
	return nil
}

// deletePackageRows removes what belongs to a script that is marked as deleted: its versions, their files, its labels.
func deletePackageRows(ctx context.Context, tx *database.Tx, s *Script) error {
	for _, statement := range []string{
		"DELETE FROM version_files WHERE organization_id = $1 AND version_id IN (SELECT id FROM versions WHERE organization_id = $1 AND script_id = $2)",
		"DELETE FROM versions WHERE organization_id = $1 AND script_id = $2",
		"DELETE FROM script_labels WHERE organization_id = $1 AND script_id = $2",
	} {
		if _, err := tx.SQL().ExecContext(ctx, statement, s.OrganizationID, s.ID); err != nil {
			return fmt.Errorf("script: delete rows: %w", err)
		}
	}
	return nil
}

// listing is a list of the organization's scripts.
type listing struct {
	organizationID string
	filter         *Filter
	order          Order
	drafts         bool
}

// where answers the list's condition and its arguments.
func (l listing) where(dialect string) (string, []any) {
	where, args := live+" AND s.agent_id IS NULL", []any{l.organizationID}
	bind := func(arg any) string {
		args = append(args, arg)
		return fmt.Sprintf("$%d", len(args))
	}
	if !l.drafts {
		where += published
	}
	if l.filter == nil {
		return where, args
	}
	if l.filter.NameContains != nil {
		find := "instr"
		if dialect == database.Postgres {
			find = "strpos"
		}
		where += " AND " + find + "(s.name, " + bind(*l.filter.NameContains) + ") > 0"
	}
	for _, label := range l.filter.Labels {
		where += " AND EXISTS (SELECT 1 FROM script_labels l WHERE l.organization_id = $1 AND l.script_id = s.id AND l.name = " + bind(label.Name) +
			" AND l.value = " + bind(label.Value) + ")"
	}
	return where, args
}

// listPackages reads a window of a list, in the window's direction.
func listPackages(ctx context.Context, q *database.Querier, l listing, w page.Window) ([]*Script, error) {
	where, args := l.where(q.Dialect())
	column, falls := batch.Bytewise(q.Dialect(), "s.name"), false
	switch l.order {
	case OrderCreatedAt:
		column, falls = "s.created_at", true
	case OrderUpdatedAt:
		column, falls = "s.updated_at", true
	}
	for _, bound := range []struct {
		key    string
		behind bool
	}{{w.After, true}, {w.Before, false}} {
		if bound.key == "" {
			continue
		}
		at, err := placeOf(l.order, bound.key)
		if err != nil {
			return nil, err
		}
		compare := "<"
		if bound.behind != falls {
			compare = ">"
		}
		args = append(args, at.key, at.id)
		where += fmt.Sprintf(" AND (%s, s.id) %s ($%d, $%d)", column, compare, len(args)-1, len(args))
	}
	direction := "ASC"
	if falls != w.Backward {
		direction = "DESC"
	}
	args = append(args, w.Limit+1)
	return readScripts(ctx, q, fmt.Sprintf("SELECT %s, 1 FROM %s WHERE %s ORDER BY %s %s, s.id %s LIMIT $%d",
		scriptColumns, scriptTables, where, column, direction, direction, len(args)), args...)
}

// countPackages counts a list.
func countPackages(ctx context.Context, q *database.Querier, l listing) (n int, err error) {
	where, args := l.where(q.Dialect())
	if err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM scripts s WHERE "+where, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("script: count: %w", err)
	}
	return n, nil
}

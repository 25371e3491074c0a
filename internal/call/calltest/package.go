package calltest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// Package is a version of an organization's script.
type Package struct {
	Entrypoint []string          // nil: python3 main.py
	Files      map[string]string // contents by path
	Parameters string            // "" is none
	Timeout    int               // 0: 120 s
	Draft      bool
}

// Publish writes the next version of the organization's script of the name, the script with the first one, and answers its number.
func (s *Server) Publish(ctx context.Context, name string, p Package) (number int) {
	s.t.Helper()
	v, err := key.From(ctx)
	s.check(err)
	if p.Entrypoint == nil {
		p.Entrypoint = []string{"python3", "main.py"}
	}
	if p.Timeout == 0 {
		p.Timeout = 120
	}
	s.check(s.DB.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		var scriptID string
		rows, err := tx.SQL().QueryContext(ctx, "SELECT id, latest_number FROM scripts WHERE organization_id = $1 AND name = $2 AND agent_id IS NULL AND deleted_at IS NULL",
			v.Organization.ID, name)
		if err != nil {
			return err
		}
		for rows.Next() {
			err = rows.Scan(&scriptID, &number)
		}
		if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return err
		}
		number++
		versionID := id.New(id.Version)
		if scriptID == "" {
			scriptID = id.New(id.Script)
			err = tx.Ent().Script.Create().SetID(scriptID).SetOrganizationID(v.Organization.ID).SetName(name).SetLatestVersionID(versionID).SetLatestNumber(1).
				SetPublished(!p.Draft).SetCreatedAt(database.Now()).SetUpdatedAt(database.Now()).Exec(ctx)
		} else if p.Draft {
			_, err = tx.SQL().ExecContext(ctx, "UPDATE scripts SET latest_number = $2 WHERE id = $1", scriptID, number)
		} else {
			_, err = tx.SQL().ExecContext(ctx, "UPDATE scripts SET latest_version_id = $2, latest_number = $3, published = TRUE WHERE id = $1", scriptID, versionID, number)
		}
		if err != nil {
			return err
		}
		return s.writeVersion(ctx, tx, v.Organization.ID, scriptID, versionID, number, p)
	}))
	return number
}

// writeVersion writes a version and its files.
func (s *Server) writeVersion(ctx context.Context, tx *database.Tx, organizationID, scriptID, versionID string, number int, p Package) error {
	entrypoint, err := json.Marshal(p.Entrypoint)
	if err != nil {
		return err
	}
	row := tx.Ent().Version.Create().SetID(versionID).SetOrganizationID(organizationID).SetScriptID(scriptID).SetNumber(number).SetDescription("A package.").
		SetEntrypoint(entrypoint).SetSource("").SetSourceHash(strings.Repeat("0", 64)).SetTimeoutSeconds(p.Timeout).SetCreatedAt(database.Now())
	if p.Parameters != "" {
		row.SetParameters([]byte(p.Parameters))
	}
	if !p.Draft {
		row.SetPublishedAt(database.Now())
	}
	if err := row.Exec(ctx); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(p.Files)) {
		ref, err := s.Blobs.Put(ctx, strings.NewReader(p.Files[path]), 1<<20)
		if err != nil {
			return err
		}
		err = tx.Ent().VersionFile.Create().SetOrganizationID(organizationID).SetVersionID(versionID).SetPath(path).SetSha256(ref.SHA256).SetSize(ref.Size).Exec(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

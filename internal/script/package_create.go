package script

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/file"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// packaged is what a write of a package did.
type packaged struct {
	script  *Script
	version *Version
	created bool // a version was written
}

// packing is one write of a package: who writes what. The bytes of its contents are kept already.
type packing struct {
	Package
	viewer *key.Viewer
	author change.Author
	kept   []file.Content // by the place of the file; of an upload it is empty
	draft  bool           // what is written is a draft
}

// Create creates a script of the organization with its version 1 (S2-create). It needs TOOLING.
//
// In order: the rules about the input itself, and what the key may do with it; the bytes are kept; the answer to an equal request before; the
// organization's lock; the name; the uploads; the rows; the change, unless it is a draft.
//
// A name is taken for a key by a script that the key sees. So drafts, which only keys with MANAGEMENT see, are in nobody else's way: a second
// script of the name is created then, and the one that is published first has the name.
func (s *Service) Create(ctx context.Context, in CreateInput) (*CreatePayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	in.Package.normalize()
	var done *packaged
	err = errors.Join(checkPackageName("input.name", in.Name), in.check(), in.checkMay(v), idempotency.Check(in.IdempotencyKey))
	if err == nil {
		done, err = s.pack(ctx, v, in.Package, idempotency.Request{Mutation: "scriptCreate", Key: in.IdempotencyKey, Input: in},
			func(ctx context.Context, tx *database.Tx, p packing) (*packaged, error) {
				return s.createPackage(ctx, tx, in.Name, p)
			})
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &CreatePayload{UserErrors: refused}, err
	}
	return &CreatePayload{Script: done.script, Version: done.version, UserErrors: refused}, nil
}

// normalize makes the literal null the same as nothing.
func (p *Package) normalize() {
	p.Parameters, p.Metadata = absent(p.Parameters), absent(p.Metadata)
}

// pack keeps the contents of a package, and then writes under the organization's lock, or answers what an equal request wrote.
func (s *Service) pack(
	ctx context.Context, v *key.Viewer, p Package, r idempotency.Request, write func(context.Context, *database.Tx, packing) (*packaged, error),
) (*packaged, error) {
	work := packing{Package: p, viewer: v, author: change.AuthorOf(ctx, v.Key.ID)}
	var err error
	if work.kept, err = s.keep(ctx, p.Files); err != nil {
		return nil, err
	}
	r.OrganizationID, r.KeyID = v.Organization.ID, v.Key.ID
	var done *packaged
	err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		answer, replayed, err := s.once.Once(ctx, tx, r, func(ctx context.Context) ([]string, error) {
			needsApproval, err := lockOrganization(ctx, tx, v.Organization.ID)
			if err != nil {
				return nil, err
			}
			work.draft = needsApproval || p.Draft != nil && *p.Draft
			if done, err = write(ctx, tx, work); err != nil {
				return nil, err
			}
			return []string{done.script.ID, done.version.ID, strconv.FormatBool(done.created)}, nil
		})
		if err == nil && replayed {
			done, err = replayPackage(ctx, tx, v, answer)
		}
		return err
	})
	return done, err
}

// keep keeps the contents that came with the input.
func (s *Service) keep(ctx context.Context, files []*FileInput) ([]file.Content, error) {
	kept := make([]file.Content, len(files))
	for i, f := range files {
		if f.Content == nil {
			continue
		}
		var err error
		if kept[i], err = s.files.Keep(ctx, strings.NewReader(*f.Content), MaxPackage); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// replayPackage reads what was remembered of an equal request, as it is now for the key.
func replayPackage(ctx context.Context, tx *database.Tx, v *key.Viewer, answer []string) (*packaged, error) {
	if len(answer) != 3 {
		return nil, errors.New("script: a remembered answer has other parts than a package's")
	}
	scripts, err := answered(ctx, tx.SQL(), v, answer[:1], false)
	if err != nil {
		return nil, err
	}
	versions, err := versionsByIDs(ctx, tx.SQL(), v.Organization.ID, answer[1:2], true)
	if err != nil {
		return nil, err
	}
	if len(scripts) != 1 || len(versions) != 1 {
		const at = "input.idempotencyKey"
		return nil, fault.Plain(fault.BadState, at, "%s: what an equal request wrote was deleted since", at)
	}
	return &packaged{scripts[0], versions[0], answer[2] == "true"}, nil
}

// createPackage writes a new script of the organization.
func (s *Service) createPackage(ctx context.Context, tx *database.Tx, name string, p packing) (*packaged, error) {
	organizationID := p.viewer.Organization.ID
	there, err := packageEntries(ctx, tx.SQL(), organizationID, []string{name}, false, p.viewer.Has(key.Management))
	if err != nil {
		return nil, err
	}
	if len(there) > 0 {
		return nil, nameTaken("input.name", name)
	}
	files, err := s.filesOf(ctx, tx, p)
	if err != nil {
		return nil, err
	}
	script := &Script{ID: id.New(id.Script), OrganizationID: organizationID, Name: name, CreatedAt: s.now()}
	version := s.nextOf(script, files, p)
	if err := insertScript(ctx, tx, script); err != nil {
		return nil, err
	}
	if err := s.insertPackage(ctx, tx, script, version, files, p); err != nil {
		return nil, err
	}
	return &packaged{script, version, true}, nil
}

func nameTaken(at, name string) error {
	by := "the script " + name
	return &fault.NameTaken{Detail: fault.NewDetail(fault.Taken, at, "%s: %s is the name of a script of the organization", at, name), TakenBy: by}
}

// filesOf answers the package's files, by path, with the bytes of the uploads that it names.
func (s *Service) filesOf(ctx context.Context, tx *database.Tx, p packing) ([]*VersionFile, error) {
	var ids []string
	for _, f := range p.Files {
		if f.FileID != nil && id.Is(id.File, *f.FileID) {
			ids = append(ids, *f.FileID)
		}
	}
	uploads := map[string]*file.File{}
	if len(ids) > 0 {
		var err error
		if uploads, err = s.files.Uploads(ctx, tx.SQL(), p.viewer.Organization.ID, ids); err != nil {
			return nil, err
		}
	}
	files := make([]*VersionFile, len(p.Files))
	sizes := make([]int64, len(p.Files))
	var faults []error
	for i, f := range p.Files {
		kept := p.kept[i]
		if f.FileID != nil {
			if upload := uploads[*f.FileID]; upload != nil {
				kept = file.Content{SHA256: upload.SHA256, Size: int64(upload.Size)}
			} else {
				at := fileAt(i) + ".fileId"
				faults = append(faults, fault.Plain(fault.NotFound, at, "%s: there is no such upload", at))
			}
		}
		files[i], sizes[i] = &VersionFile{Path: f.Path, SHA256: kept.SHA256, Size: kept.Size}, kept.Size
	}
	if err := errors.Join(errors.Join(faults...), checkSizes(sizes)); err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b *VersionFile) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// nextOf makes the script's next version of the package, and the script's latest of it, unless it is a draft beside a published one.
func (s *Service) nextOf(script *Script, files []*VersionFile, p packing) *Version {
	v := &Version{
		ID: id.New(id.Version), OrganizationID: script.OrganizationID, ScriptID: script.ID, ScriptName: script.Name, Package: true,
		Number: script.LatestNumber + 1, Description: p.Description, Parameters: p.Parameters, Entrypoint: p.Entrypoint, SourceHash: manifestHash(files),
		TimeoutSeconds: orDefault(p.TimeoutSeconds, TimeoutSeconds), Background: orDefault(p.Background, false),
		FreshInterpreter: orDefault(p.FreshInterpreter, false), Author: p.author, CreatedAt: s.now(),
	}
	for _, f := range files {
		f.VersionID = v.ID
	}
	script.LatestNumber = v.Number
	if p.draft {
		v.labels, v.metadata = labelsJSON(p.Labels), p.Metadata
		if !script.Published {
			script.now(v)
		}
		return v
	}
	v.PublishedAt = &v.CreatedAt
	script.now(v)
	script.Published = true
	return v
}

// now makes the version the script's latest.
func (s *Script) now(v *Version) {
	s.LatestVersionID, s.UpdatedAt = v.ID, v.CreatedAt
	s.Description, s.Parameters = v.Description, v.Parameters
}

func orDefault[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// labelsJSON is how a draft keeps labels; nil: none were given.
func labelsJSON(labels []*Label) json.RawMessage {
	if labels == nil {
		return nil
	}
	raw, err := json.Marshal(labels)
	if err != nil {
		panic(err) // texts always have a JSON text
	}
	return raw
}

// insertPackage writes a version with its files, which are sorted. What is published tells of it, and gives the script its labels and metadata.
func (s *Service) insertPackage(ctx context.Context, tx *database.Tx, script *Script, v *Version, files []*VersionFile, p packing) error {
	contents := make([]file.Content, len(files))
	for i, f := range files {
		contents[i] = file.Content{SHA256: f.SHA256, Size: f.Size}
	}
	if err := s.files.Refer(ctx, tx, contents...); err != nil {
		return err
	}
	if err := insertVersion(ctx, tx, v); err != nil {
		return err
	}
	if err := insertFiles(ctx, tx, v, files); err != nil {
		return err
	}
	if p.draft {
		return updateScript(ctx, tx, script)
	}
	if err := s.describe(ctx, tx, script, p.Labels, p.Metadata); err != nil {
		return err
	}
	return s.tell(ctx, tx, change.Create, script, v.ID, p.author)
}

// describe gives a script its labels and its metadata, where there are new ones, and writes its row.
func (*Service) describe(ctx context.Context, tx *database.Tx, script *Script, labels []*Label, metadata json.RawMessage) error {
	if metadata != nil {
		script.metadata = metadata
	}
	if err := updateScript(ctx, tx, script); err != nil || labels == nil {
		return err
	}
	return replaceLabels(ctx, tx, script, labels)
}

// tell writes the change; it is a transaction's last write.
func (s *Service) tell(ctx context.Context, tx *database.Tx, action change.Action, script *Script, versionID string, author change.Author) error {
	of := change.New{Action: action, Name: &script.Name, ScriptID: &script.ID, Author: author}
	if versionID != "" {
		of.VersionID = &versionID
	}
	_, err := s.changes.Append(ctx, tx, script.OrganizationID, []change.New{of})
	return err
}

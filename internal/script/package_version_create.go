package script

import (
	"context"
	"errors"
	"slices"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// CreateVersion writes the next version of an organization's script, a whole package (S2-immut). It needs TOOLING.
//
// In order as Create does; under the organization's lock the script, the version expected, the uploads, and then, where the package is the same
// as the latest version (S2-dedupe), nothing is written but labels and metadata (S2-labels).
func (s *Service) CreateVersion(ctx context.Context, in VersionCreateInput) (*VersionCreatePayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	in.Package.normalize()
	var done *packaged
	err = errors.Join(in.check(), in.checkMay(v), checkExpected(in.ExpectedVersion), idempotency.Check(in.IdempotencyKey))
	if err == nil {
		done, err = s.pack(ctx, v, in.Package, idempotency.Request{Mutation: "scriptVersionCreate", Key: in.IdempotencyKey, Input: in},
			func(ctx context.Context, tx *database.Tx, p packing) (*packaged, error) {
				return s.createVersion(ctx, tx, in, p)
			})
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &VersionCreatePayload{UserErrors: refused}, err
	}
	return &VersionCreatePayload{Script: done.script, Version: done.version, Created: &done.created, UserErrors: refused}, nil
}

// createVersion writes under the organization's lock.
func (s *Service) createVersion(ctx context.Context, tx *database.Tx, in VersionCreateInput, p packing) (*packaged, error) {
	drafts := p.viewer.Has(key.Management)
	current, err := packageByID(ctx, tx, p.viewer.Organization.ID, in.Script, drafts)
	if err != nil {
		return nil, err
	}
	if err := checkCurrent(in.ExpectedVersion, current); err != nil {
		return nil, err
	}
	files, err := s.filesOf(ctx, tx, p)
	if err != nil {
		return nil, err
	}
	same, err := p.sameAs(ctx, tx, current, files, drafts)
	if err != nil {
		return nil, err
	}
	if same != nil {
		return &packaged{current.Script, same, false}, s.redescribe(ctx, tx, current.Script, p)
	}
	if !p.draft {
		if err := takeName(ctx, tx, current.Script, "input.script"); err != nil {
			return nil, err
		}
	}
	version := s.nextOf(current.Script, files, p)
	return &packaged{current.Script, version, true}, s.insertPackage(ctx, tx, current.Script, version, files, p)
}

// packageByID reads an organization's script and its latest version, under the organization's lock.
func packageByID(ctx context.Context, tx *database.Tx, organizationID, scriptID string, drafts bool) (*Entry, error) {
	const at = "input.script"
	scripts, err := byIDs(ctx, tx.SQL(), organizationID, id.Only(id.Script, []string{scriptID}), false, drafts)
	if err != nil {
		return nil, err
	}
	if len(scripts) == 0 || !scripts[0].IsPackage() {
		return nil, fault.Plain(fault.NotFound, at, "%s: there is no such script of the organization", at)
	}
	latest, err := versionsByIDs(ctx, tx.SQL(), organizationID, []string{scripts[0].LatestVersionID}, true)
	if err != nil {
		return nil, err
	}
	if len(latest) == 0 {
		return nil, errors.New("script: a package has no version")
	}
	return &Entry{Script: scripts[0], Version: latest[0]}, nil
}

// sameAs answers the version that the package is the same as, or nil (S2-dedupe). What is published is compared with what is published. A
// draft is compared with the newest version that its writer sees and that was not rejected, and with its labels and metadata too: nothing that
// others see changes by it.
func (p packing) sameAs(ctx context.Context, tx *database.Tx, current *Entry, files []*VersionFile, drafts bool) (*Version, error) {
	than := current.Version
	switch {
	case p.draft && drafts:
		var err error
		if than, err = newestKept(ctx, tx, current.Script); err != nil || than == nil {
			return nil, err
		}
	case !current.Script.Published:
		return nil, nil
	}
	if !p.same(than, manifestHash(files)) {
		return nil, nil
	}
	if !p.draft {
		return than, nil
	}
	labels, err := labelsOf(ctx, tx.SQL(), current.Script.OrganizationID, []string{current.Script.ID})
	if err != nil {
		return nil, err
	}
	its := labelsJSON(append([]*Label{}, labels[current.Script.ID]...))
	if !sameJSON(or(labelsJSON(p.Labels), its), or(than.labels, its)) || !sameJSON(or(p.Metadata, current.Script.Metadata()), or(than.metadata, current.Script.Metadata())) {
		return nil, nil
	}
	return than, nil
}

// same compares the package with a version, whose files have the manifest that its hash is of.
func (p packing) same(v *Version, sourceHash string) bool {
	return v.SourceHash == sourceHash && v.Description == p.Description && slices.Equal(v.Entrypoint, p.Entrypoint) && sameJSON(v.Parameters, p.Parameters) &&
		v.TimeoutSeconds == orDefault(p.TimeoutSeconds, TimeoutSeconds) && v.Background == orDefault(p.Background, false) &&
		v.FreshInterpreter == orDefault(p.FreshInterpreter, false)
}

// or is the first JSON value that is there.
func or[T ~[]byte](a, b T) T {
	if a != nil {
		return a
	}
	return b
}

// redescribe gives a script the labels and metadata of a package that is not written again (S2-labels). A draft's are its own.
func (s *Service) redescribe(ctx context.Context, tx *database.Tx, script *Script, p packing) error {
	if p.draft {
		return nil
	}
	labels, err := labelsOf(ctx, tx.SQL(), script.OrganizationID, []string{script.ID})
	if err != nil {
		return err
	}
	its := labelsJSON(append([]*Label{}, labels[script.ID]...))
	if sameJSON(or(labelsJSON(p.Labels), its), its) && sameJSON(or(p.Metadata, script.Metadata()), script.Metadata()) {
		return nil
	}
	script.UpdatedAt = s.now()
	return s.describe(ctx, tx, script, p.Labels, p.Metadata)
}

// takeName refuses to publish a script of drafts alone while another one of its name is published. The organization is locked.
func takeName(ctx context.Context, tx *database.Tx, script *Script, at string) error {
	if script.Published {
		return nil
	}
	there, err := packageEntries(ctx, tx.SQL(), script.OrganizationID, []string{script.Name}, false, false)
	if err != nil || len(there) == 0 {
		return err
	}
	return nameTaken(at, script.Name)
}

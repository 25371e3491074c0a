package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// PublishInTx makes a draft its script's latest version (S2-draft), in a transaction of the caller's. The viewer has MANAGEMENT.
//
// Only a draft that was not rejected can be published, and only while nothing newer is published: the latest version is the one with the
// highest number. Where versions need approval, nobody publishes what his own key wrote.
func (s *Service) PublishInTx(ctx context.Context, tx *database.Tx, v *key.Viewer, versionID string) (*Version, error) {
	needsApproval, err := lockOrganization(ctx, tx, v.Organization.ID)
	if err != nil {
		return nil, err
	}
	e, err := draftByID(ctx, tx, v.Organization.ID, versionID)
	if err != nil {
		return nil, err
	}
	if err := mayPublish(e, v, needsApproval); err != nil {
		return nil, err
	}
	if err := takeName(ctx, tx, e.Script, draftAt); err != nil {
		return nil, err
	}
	now := s.now()
	e.Version.PublishedAt = &now
	if err := markPublished(ctx, tx, e.Version); err != nil {
		return nil, err
	}
	e.Script.now(e.Version)
	e.Script.Published, e.Script.UpdatedAt = true, now
	labels, err := e.Version.keptLabels()
	if err != nil {
		return nil, err
	}
	if err := s.describe(ctx, tx, e.Script, labels, e.Version.metadata); err != nil {
		return nil, err
	}
	return e.Version, s.tell(ctx, tx, change.Publish, e.Script, e.Version.ID, change.AuthorOf(ctx, v.Key.ID))
}

// RejectInTx ends a draft: it can never be published. The viewer has MANAGEMENT. It is no change that others could see.
func (s *Service) RejectInTx(ctx context.Context, tx *database.Tx, v *key.Viewer, versionID string) (*Version, error) {
	if _, err := lockOrganization(ctx, tx, v.Organization.ID); err != nil {
		return nil, err
	}
	e, err := draftByID(ctx, tx, v.Organization.ID, versionID)
	if err != nil {
		return nil, err
	}
	if err := e.Version.checkOpen(); err != nil {
		return nil, err
	}
	now := s.now()
	e.Version.RejectedAt = &now
	return e.Version, markRejected(ctx, tx, e.Version)
}

// draftAt is where decisions name the draft.
const draftAt = "input.version"

// draftByID reads a version of a package, and its script.
func draftByID(ctx context.Context, tx *database.Tx, organizationID, versionID string) (*Entry, error) {
	versions, err := versionsByIDs(ctx, tx.SQL(), organizationID, id.Only(id.Version, []string{versionID}), true)
	if err != nil {
		return nil, err
	}
	if len(versions) == 0 || !versions[0].Package {
		return nil, fault.Plain(fault.NotFound, draftAt, "%s: there is no such version of a script of the organization", draftAt)
	}
	scripts, err := byIDs(ctx, tx.SQL(), organizationID, []string{versions[0].ScriptID}, false, true)
	if err != nil {
		return nil, err
	}
	if len(scripts) == 0 {
		return nil, errors.New("script: a version has no script")
	}
	return &Entry{Script: scripts[0], Version: versions[0]}, nil
}

// checkOpen refuses a version about which is decided already.
func (v *Version) checkOpen() error {
	switch {
	case v.PublishedAt != nil:
		return fault.Plain(fault.BadState, draftAt, "%s is published already", draftAt)
	case v.RejectedAt != nil:
		return fault.Plain(fault.BadState, draftAt, "%s was rejected: save it again as a new version", draftAt)
	}
	return nil
}

// mayPublish holds the rules about publishing.
func mayPublish(e *Entry, v *key.Viewer, needsApproval bool) error {
	if err := e.Version.checkOpen(); err != nil {
		return err
	}
	if latest := e.Script.latest; e.Script.Published && latest > e.Version.Number {
		return fault.Plain(fault.BadState, draftAt, "%s: version %d is published, which is newer: save it again as a new version", draftAt, latest)
	}
	if needsApproval && e.Version.Author.KeyID == v.Key.ID {
		return fault.Plain(fault.Forbidden, draftAt, "%s: your key wrote it, and nobody approves his own", draftAt)
	}
	return nil
}

// keptLabels are the labels that become the script's when the version is published; nil: the script's are kept.
func (v *Version) keptLabels() ([]*Label, error) {
	if v.labels == nil {
		return nil, nil
	}
	var labels []*Label
	if err := json.Unmarshal(v.labels, &labels); err != nil {
		return nil, fmt.Errorf("version: labels: %w", err)
	}
	return labels, nil
}

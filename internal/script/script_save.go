package script

import (
	"context"
	"fmt"
	"strconv"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// saved is what a save wrote.
type saved struct {
	script      *Script
	version     *Version
	created     bool
	takesEffect TakesEffect
}

// Save creates a script of an agent, or replaces the one of the same name by writing its next version (S1-replace). It needs TOOLING.
//
// In order: the rules about the input itself; the answer to an equal request before; the agent's lock; the version expected; for a
// new name S1-reserved and S1-cap; the rows; when it takes effect (S1-editnext); the change (S1-event). After the commit it is
// written through to running machines (S1-wthru).
func (s *Service) Save(ctx context.Context, in SaveInput) (*SavePayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	in.Parameters = absent(in.Parameters)
	var done *saved
	err = in.checkShape()
	if err == nil {
		err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			done, err = s.saveOnce(ctx, tx, v, in)
			return err
		})
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &SavePayload{UserErrors: refused}, err
	}
	return &SavePayload{
		Script: done.script, Version: done.version, Created: &done.created, TakesEffect: &done.takesEffect, UserErrors: refused,
	}, nil
}

// saveOnce saves, or answers what an equal request saved.
func (s *Service) saveOnce(ctx context.Context, tx *database.Tx, v *key.Viewer, in SaveInput) (*saved, error) {
	request := idempotency.Request{
		OrganizationID: v.Organization.ID, KeyID: v.Key.ID, Mutation: "agentScriptSave", Key: in.IdempotencyKey, Input: in,
	}
	var done *saved
	answer, replayed, err := s.once.Once(ctx, tx, request, func(ctx context.Context) (_ []string, err error) {
		if done, err = s.save(ctx, tx, v, in); err != nil {
			return nil, err
		}
		return []string{done.script.ID, done.version.ID, strconv.FormatBool(done.created), string(done.takesEffect)}, nil
	})
	if err != nil || !replayed {
		return done, err
	}
	return s.replay(ctx, tx, v.Organization.ID, answer)
}

// replay reads what saveOnce remembered. The script may have been changed or deleted since.
func (s *Service) replay(ctx context.Context, tx *database.Tx, organizationID string, answer []string) (*saved, error) {
	if len(answer) != 4 {
		return nil, fmt.Errorf("script: a remembered answer has %d parts", len(answer))
	}
	scripts, err := byIDs(ctx, tx.SQL(), organizationID, answer[:1], true)
	if err != nil {
		return nil, err
	}
	versions, err := versionsByIDs(ctx, tx.SQL(), organizationID, answer[1:2])
	if err != nil {
		return nil, err
	}
	if len(scripts) != 1 || len(versions) != 1 {
		return nil, fmt.Errorf("script: a remembered answer names %s and %s, which are gone", answer[0], answer[1])
	}
	return &saved{scripts[0], versions[0], answer[2] == "true", TakesEffect(answer[3])}, nil
}

// save holds the rules that need the agent's scripts, and writes.
func (s *Service) save(ctx context.Context, tx *database.Tx, v *key.Viewer, in SaveInput) (*saved, error) {
	a, err := s.agents.Lock(ctx, tx, v.Organization.ID, in.Agent)
	if err != nil {
		return nil, err
	}
	current, err := liveByName(ctx, tx.SQL(), a.OrganizationID, a.ID, in.Name)
	if err != nil {
		return nil, err
	}
	if err := checkCurrent(in.ExpectedVersion, current); err != nil {
		return nil, err
	}
	author := change.AuthorOf(ctx, v.Key.ID)
	var done *saved
	if current == nil {
		done, err = s.create(ctx, tx, a, author, in)
	} else {
		done, err = s.replace(ctx, tx, current.Script, author, in)
	}
	if err != nil {
		return nil, err
	}
	snapped, err := s.snapshots.InOpenSnapshot(ctx, tx, a.OrganizationID, a.ID, in.Name)
	if err != nil {
		return nil, err
	}
	if done.takesEffect = Now; snapped {
		done.takesEffect = NextRun
	}
	tell := context.WithoutCancel(ctx)
	tx.AfterCommit(func() { s.through.Saved(tell, done.script, done.version) })
	_, err = s.changes.Append(ctx, tx, a.OrganizationID, []change.New{{
		Action: change.Create, AgentID: &a.ID, Name: &in.Name, ScriptID: &done.script.ID, VersionID: &done.version.ID, Author: author,
	}})
	return done, err
}

// checkCurrent compares the latest version with the one expected; 0 is none.
func checkCurrent(expected *int, current *Entry) error {
	number, conflict := 0, &VersionConflict{}
	if current != nil {
		number, conflict.Current = current.Version.Number, current.Version
	}
	if expected == nil || *expected == number {
		return nil
	}
	conflict.Detail = fault.NewDetail(fault.Conflict, "input.expectedVersion", "input.expectedVersion is %d, the latest version is %d", *expected, number)
	if current == nil {
		conflict.Message = fmt.Sprintf("input.expectedVersion is %d, there is no script of this name", *expected)
	}
	return conflict
}

// create writes a new script, if the agent may have one more of this name.
func (s *Service) create(ctx context.Context, tx *database.Tx, a *agent.Agent, author change.Author, in SaveInput) (*saved, error) {
	if err := checkNewName(a, in.Name); err != nil {
		return nil, err
	}
	n, err := countLive(ctx, tx, a.OrganizationID, a.ID)
	if err != nil {
		return nil, err
	}
	if n >= a.MaxScripts { // S1-cap, S1-caplow
		detail := fault.NewDetail(fault.AtCap, "input.name", "this agent is limited to %d scripts", a.MaxScripts)
		return nil, &fault.CapReached{Detail: detail, Limit: a.MaxScripts}
	}
	script := &Script{ID: id.New(id.Script), OrganizationID: a.OrganizationID, AgentID: a.ID, Name: in.Name}
	version := s.next(script, author, in)
	script.CreatedAt = version.CreatedAt
	if err := insertScript(ctx, tx, script); err != nil {
		return nil, err
	}
	return &saved{script: script, version: version, created: true}, insertVersion(ctx, tx, version)
}

// replace writes the next version of a script that is there.
func (s *Service) replace(ctx context.Context, tx *database.Tx, script *Script, author change.Author, in SaveInput) (*saved, error) {
	version := s.next(script, author, in)
	if err := insertVersion(ctx, tx, version); err != nil {
		return nil, err
	}
	return &saved{script: script, version: version}, updateScript(ctx, tx, script)
}

// next makes the script's next version, and makes it the script's latest.
func (s *Service) next(script *Script, author change.Author, in SaveInput) *Version {
	v := &Version{
		ID: id.New(id.Version), OrganizationID: script.OrganizationID, ScriptID: script.ID, ScriptName: script.Name,
		Number: script.LatestNumber + 1, Description: in.Description, Parameters: in.Parameters, Source: in.Source,
		SourceHash: hash(in.Source), TimeoutSeconds: TimeoutSeconds, FreshInterpreter: in.FreshInterpreter != nil && *in.FreshInterpreter, Author: author, CreatedAt: s.now(),
	}
	script.LatestVersionID, script.LatestNumber, script.UpdatedAt = v.ID, v.Number, v.CreatedAt
	script.Description, script.Parameters = v.Description, v.Parameters
	return v
}

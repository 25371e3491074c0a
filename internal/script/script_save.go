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
	return done.payload(), nil
}

// payload is the answer of a save that was not refused.
func (d *saved) payload() *SavePayload {
	return &SavePayload{
		Script: d.script, Version: d.version, Created: &d.created, TakesEffect: &d.takesEffect, UserErrors: []fault.UserError{},
	}
}

// saveOnce saves, or answers what an equal request saved.
func (s *Service) saveOnce(ctx context.Context, tx *database.Tx, v *key.Viewer, in SaveInput) (*saved, error) {
	request := idempotency.Request{
		OrganizationID: v.Organization.ID, KeyID: v.Key.ID, Mutation: "agentScriptSave", Key: in.IdempotencyKey, Input: in,
	}
	return s.savedOnce(ctx, tx, request, func(ctx context.Context) (*saved, error) { return s.save(ctx, tx, v, in) })
}

// savedOnce saves one script, or answers what an equal request saved.
func (s *Service) savedOnce(ctx context.Context, tx *database.Tx, r idempotency.Request, save func(context.Context) (*saved, error)) (*saved, error) {
	var done *saved
	answer, replayed, err := s.once.Once(ctx, tx, r, func(ctx context.Context) (_ []string, err error) {
		if done, err = save(ctx); err != nil {
			return nil, err
		}
		return []string{done.script.ID, done.version.ID, strconv.FormatBool(done.created), string(done.takesEffect)}, nil
	})
	if err != nil || !replayed {
		return done, err
	}
	return s.replay(ctx, tx, r.OrganizationID, answer)
}

// replay reads what savedOnce remembered. The script may have been changed or deleted since.
func (s *Service) replay(ctx context.Context, tx *database.Tx, organizationID string, answer []string) (*saved, error) {
	if len(answer) != 4 {
		return nil, fmt.Errorf("script: a remembered answer has %d parts", len(answer))
	}
	scripts, err := byIDs(ctx, tx.SQL(), organizationID, answer[:1], true, false)
	if err != nil {
		return nil, err
	}
	versions, err := versionsByIDs(ctx, tx.SQL(), organizationID, answer[1:2], false)
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
	return s.saveOf(ctx, tx, a, v, writing{in.content(), inInput, in.ExpectedVersion})
}

// SaveInTx is Save in a transaction of the caller's, for the tools of a run; refusals are errors. The change is its last write.
func (s *Service) SaveInTx(ctx context.Context, tx *database.Tx, in SaveInput) (*SavePayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	in.Parameters = absent(in.Parameters)
	if err := in.checkShape(); err != nil {
		return nil, err
	}
	done, err := s.save(ctx, tx, v, in)
	if err != nil {
		return nil, err
	}
	return done.payload(), nil
}

// writing is one script that is to be saved.
type writing struct {
	Content
	at       place
	expected *int
}

// saveOf saves a script of an agent that is locked: the rows, when they take effect, and the change.
func (s *Service) saveOf(ctx context.Context, tx *database.Tx, a *agent.Agent, v *key.Viewer, w writing) (*saved, error) {
	author := change.AuthorOf(ctx, v.Key.ID)
	done, err := s.write(ctx, tx, a, author, w)
	if err != nil {
		return nil, err
	}
	snapped, err := s.snapshots.InOpenSnapshot(ctx, tx, a.OrganizationID, a.ID, w.Name)
	if err != nil {
		return nil, err
	}
	if done.takesEffect = Now; snapped {
		done.takesEffect = NextRun
	}
	_, err = s.changes.Append(ctx, tx, a.OrganizationID, []change.New{done.change(author)})
	return done, err
}

// write writes the rows of a script of an agent that is locked, and has it written through after the commit (S1-wthru).
func (s *Service) write(ctx context.Context, tx *database.Tx, a *agent.Agent, author change.Author, w writing) (*saved, error) {
	current, err := liveByName(ctx, tx.SQL(), a.OrganizationID, a.ID, w.Name)
	if err != nil {
		return nil, err
	}
	if err := checkCurrent(w.expected, current); err != nil {
		return nil, err
	}
	var done *saved
	if current == nil {
		done, err = s.create(ctx, tx, a, author, w)
	} else {
		done, err = s.replace(ctx, tx, current.Script, author, w.Content)
	}
	if err != nil {
		return nil, err
	}
	tell := context.WithoutCancel(ctx)
	tx.AfterCommit(func() { s.through.Saved(tell, done.script, done.version) })
	return done, nil
}

// change is what the save is in the log (S1-event).
func (d *saved) change(author change.Author) change.New {
	return change.New{
		Action: change.Create, AgentID: &d.script.AgentID, Name: &d.script.Name, ScriptID: &d.script.ID, VersionID: &d.version.ID, Author: author,
	}
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
func (s *Service) create(ctx context.Context, tx *database.Tx, a *agent.Agent, author change.Author, w writing) (*saved, error) {
	if err := checkNewName(w.at.of("name"), a, w.Name); err != nil {
		return nil, err
	}
	n, err := countLive(ctx, tx, a.OrganizationID, a.ID)
	if err != nil {
		return nil, err
	}
	if n >= a.MaxScripts { // S1-cap, S1-caplow
		return nil, atCap(w.at.of("name"), a)
	}
	script := &Script{ID: id.New(id.Script), OrganizationID: a.OrganizationID, AgentID: a.ID, Name: w.Name, Published: true}
	version := s.next(script, author, w.Content)
	script.CreatedAt = version.CreatedAt
	if err := insertScript(ctx, tx, script); err != nil {
		return nil, err
	}
	return &saved{script: script, version: version, created: true}, insertVersion(ctx, tx, version)
}

// atCap is the refusal of a script that would pass the cap (S1-cap).
func atCap(path string, a *agent.Agent) error {
	return &fault.CapReached{Detail: fault.NewDetail(fault.AtCap, path, "this agent is limited to %d scripts", a.MaxScripts), Limit: a.MaxScripts}
}

// replace writes the next version of a script that is there.
func (s *Service) replace(ctx context.Context, tx *database.Tx, script *Script, author change.Author, c Content) (*saved, error) {
	version := s.next(script, author, c)
	if err := insertVersion(ctx, tx, version); err != nil {
		return nil, err
	}
	return &saved{script: script, version: version}, updateScript(ctx, tx, script)
}

// next makes the script's next version, and makes it the script's latest.
func (s *Service) next(script *Script, author change.Author, c Content) *Version {
	v := &Version{
		ID: id.New(id.Version), OrganizationID: script.OrganizationID, ScriptID: script.ID, ScriptName: script.Name,
		Number: script.LatestNumber + 1, Description: c.Description, Parameters: c.Parameters, Source: c.Source,
		SourceHash: hash(c.Source), TimeoutSeconds: TimeoutSeconds, FreshInterpreter: c.FreshInterpreter != nil && *c.FreshInterpreter,
		Entrypoint: agentEntrypoint(script.Name), Author: author, CreatedAt: s.now(),
	}
	v.PublishedAt = &v.CreatedAt
	script.LatestVersionID, script.LatestNumber, script.UpdatedAt = v.ID, v.Number, v.CreatedAt
	script.Description, script.Parameters = v.Description, v.Parameters
	return v
}

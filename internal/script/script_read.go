package script

import (
	"context"
	"fmt"
	"strconv"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

// The orders of lists, part of their cursors.
const (
	byName   = "scripts"
	byNumber = "versions"
)

// seesDrafts says whether who asks may see drafts: a key with MANAGEMENT (S2-draft). For everybody else they are not there.
func seesDrafts(ctx context.Context) bool {
	v, err := key.From(ctx)
	return err == nil && v.Has(key.Management)
}

// ByIDs answers the organization's scripts with these ids, without deleted ones, in one statement.
func (s *Service) ByIDs(ctx context.Context, organizationID string, ids []string) (map[string]*Script, error) {
	rows, err := byIDs(ctx, s.db.SQL(), organizationID, id.Only(id.Script, ids), false, seesDrafts(ctx))
	return keyed(rows, func(s *Script) string { return s.ID }), err
}

// KeptByIDs is ByIDs with deleted scripts: for what history still shows of them.
func (s *Service) KeptByIDs(ctx context.Context, organizationID string, ids []string) (map[string]*Script, error) {
	rows, err := byIDs(ctx, s.db.SQL(), organizationID, id.Only(id.Script, ids), true, seesDrafts(ctx))
	return keyed(rows, func(s *Script) string { return s.ID }), err
}

// ByName answers, by the agent's id, the script of the name that each of the agents has, in one statement.
func (s *Service) ByName(ctx context.Context, organizationID string, agentIDs []string, name string) (map[string]*Script, error) {
	if !ValidName(name) {
		return map[string]*Script{}, nil
	}
	rows, err := scriptsByName(ctx, s.db.SQL(), organizationID, agentIDs, name)
	return keyed(rows, func(s *Script) string { return s.AgentID }), err
}

// PageOfAgents answers, by the agent's id, a page of the scripts of each of the agents, by name, in one statement (S1-listlive).
func (s *Service) PageOfAgents(ctx context.Context, organizationID string, agentIDs []string, args page.Args) (map[string]*page.Connection[*Script], error) {
	w, err := args.WindowOf(byName, decodeName)
	if err != nil {
		return nil, err
	}
	rows, err := scriptsOfAgents(ctx, s.db.SQL(), organizationID, agentIDs, w)
	if err != nil {
		return nil, err
	}
	counts := batch.Counts(func(ctx context.Context) (map[string]int, error) {
		return countOfAgents(ctx, s.db.SQL(), organizationID, agentIDs)
	})
	return batch.Pages(w, agentIDs, rows, func(s *Script) string { return s.AgentID },
		func(s *Script) string { return page.Encode(byName, s.Name) }, counts), nil
}

// VersionsByIDs answers the organization's versions with these ids, also of deleted scripts, in one statement.
func (s *Service) VersionsByIDs(ctx context.Context, organizationID string, ids []string) (map[string]*Version, error) {
	rows, err := versionsByIDs(ctx, s.db.SQL(), organizationID, id.Only(id.Version, ids), seesDrafts(ctx))
	return keyed(rows, func(v *Version) string { return v.ID }), err
}

// VersionByNumber answers, by the script's id, the version of the number that each of the scripts has, in one statement.
func (s *Service) VersionByNumber(ctx context.Context, organizationID string, scriptIDs []string, number int) (map[string]*Version, error) {
	rows, err := versionsByNumber(ctx, s.db.SQL(), organizationID, scriptIDs, number, seesDrafts(ctx))
	return keyed(rows, func(v *Version) string { return v.ScriptID }), err
}

// VersionPage answers, by the script's id, a page of the versions of each of the scripts, newest first, in one statement.
func (s *Service) VersionPage(ctx context.Context, organizationID string, scriptIDs []string, args page.Args) (map[string]*page.Connection[*Version], error) {
	w, err := args.WindowOf(byNumber, decodeNumber)
	if err != nil {
		return nil, err
	}
	drafts := seesDrafts(ctx)
	rows, err := versionsOfScripts(ctx, s.db.SQL(), organizationID, scriptIDs, w, drafts)
	if err != nil {
		return nil, err
	}
	counts := batch.Counts(func(ctx context.Context) (map[string]int, error) {
		return countOfScripts(ctx, s.db.SQL(), organizationID, scriptIDs, drafts)
	})
	return batch.Pages(w, scriptIDs, rows, func(v *Version) string { return v.ScriptID },
		func(v *Version) string { return page.Encode(byNumber, strconv.Itoa(v.Number)) }, counts), nil
}

// Live answers the agent's scripts with their latest versions, by name, in one statement: what a run's snapshot takes, so without their
// sources. Inside of a transaction, give it; else nil.
func (s *Service) Live(ctx context.Context, tx *database.Tx, organizationID, agentID string) ([]Entry, error) {
	return liveEntries(ctx, s.querier(tx), organizationID, agentID)
}

// LiveByName answers the agent's script of the name with its latest version, nil where there is none. Inside of a transaction, give
// it; else nil.
func (s *Service) LiveByName(ctx context.Context, tx *database.Tx, organizationID, agentID, name string) (*Entry, error) {
	if !ValidName(name) {
		return nil, nil
	}
	return liveByName(ctx, s.querier(tx), organizationID, agentID, name)
}

// LockAgent answers the agent and locks its scripts until the transaction ends, as every save and deletion does: who will do one, and
// something before, does this first. NOT_FOUND at input.agent where there is no such agent.
func (s *Service) LockAgent(ctx context.Context, tx *database.Tx, organizationID, agentID string) (*agent.Agent, error) {
	return s.agents.Lock(ctx, tx, organizationID, agentID)
}

func (s *Service) querier(tx *database.Tx) *database.Querier {
	if tx != nil {
		return tx.SQL()
	}
	return s.db.SQL()
}

// decodeName reads a cursor of a list by name.
func decodeName(cursor string) (string, error) {
	name, err := page.Decode(byName, cursor)
	if err == nil && !ValidName(name) {
		err = fmt.Errorf("%q is no script's name", name)
	}
	return name, err
}

// decodeNumber reads a cursor of a list by number.
func decodeNumber(cursor string) (string, error) {
	key, err := page.Decode(byNumber, cursor)
	if err != nil {
		return "", err
	}
	number, err := strconv.ParseInt(key, 10, 32)
	if err == nil && (number < 1 || strconv.FormatInt(number, 10) != key) {
		err = fmt.Errorf("%q is no version's number", key)
	}
	return key, err
}

// keyed puts rows into a map.
func keyed[T any](rows []T, of func(T) string) map[string]T {
	m := make(map[string]T, len(rows))
	for _, row := range rows {
		m[of(row)] = row
	}
	return m
}

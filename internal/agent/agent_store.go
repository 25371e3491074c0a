package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/scriptorium-dev/scriptorium/ent/db"
	"github.com/scriptorium-dev/scriptorium/ent/db/agent"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

// insert writes an agent's row.
func insert(ctx context.Context, tx *database.Tx, a *Agent) error {
	err := tx.Ent().Agent.Create().SetID(a.ID).SetOrganizationID(a.OrganizationID).SetName(a.Name).SetScripting(a.Scripting).SetKeepsHome(a.KeepsHome).
		SetMaxScripts(a.MaxScripts).SetConnectedTools(a.ConnectedTools).SetTools(a.Tools).SetCreatedAt(a.CreatedAt).SetUpdatedAt(a.UpdatedAt).Exec(ctx)
	if err != nil {
		return fmt.Errorf("agent: write: %w", err)
	}
	return nil
}

// update writes what can change of an agent that is locked.
func update(ctx context.Context, tx *database.Tx, a *Agent) error {
	err := tx.Ent().Agent.Update().Where(agent.OrganizationID(a.OrganizationID), agent.ID(a.ID)).SetName(a.Name).SetScripting(a.Scripting).SetKeepsHome(a.KeepsHome).
		SetMaxScripts(a.MaxScripts).SetConnectedTools(a.ConnectedTools).SetTools(a.Tools).SetUpdatedAt(a.UpdatedAt).Exec(ctx)
	if err != nil {
		return fmt.Errorf("agent: update: %w", err)
	}
	return nil
}

// markDeleted ends an agent that is locked.
func markDeleted(ctx context.Context, tx *database.Tx, organizationID, agentID string, at time.Time) error {
	err := tx.Ent().Agent.Update().Where(agent.OrganizationID(organizationID), agent.ID(agentID)).SetDeletedAt(at).Exec(ctx)
	if err != nil {
		return fmt.Errorf("agent: delete: %w", err)
	}
	return nil
}

// lock reads the agent and locks its row; nil where there is none.
func lock(ctx context.Context, tx *database.Tx, organizationID, agentID string) (*Agent, error) {
	row, err := tx.Ent().Agent.Query().
		Where(agent.OrganizationID(organizationID), agent.ID(agentID), agent.DeletedAtIsNil(), database.ForUpdate).Only(ctx)
	if db.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("agent: lock: %w", err)
	}
	return fromRow(row), nil
}

// byIDs reads agents of the organization, deleted ones where wanted.
func byIDs(ctx context.Context, client *db.Client, organizationID string, ids []string, deleted bool) (map[string]*Agent, error) {
	query := client.Agent.Query().Where(agent.OrganizationID(organizationID), agent.IDIn(ids...))
	if !deleted {
		query.Where(agent.DeletedAtIsNil())
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("agent: read: %w", err)
	}
	found := make(map[string]*Agent, len(rows))
	for _, row := range rows {
		found[row.ID] = fromRow(row)
	}
	return found, nil
}

// list reads a window of the organization's agents; ids sort by age.
func list(ctx context.Context, client *db.Client, organizationID string, w page.Window) ([]*Agent, error) {
	query := client.Agent.Query().Where(agent.OrganizationID(organizationID), agent.DeletedAtIsNil()).Limit(w.Limit + 1)
	if w.After != "" {
		query.Where(agent.IDGT(w.After))
	}
	if w.Before != "" {
		query.Where(agent.IDLT(w.Before))
	}
	if w.Backward {
		query.Order(db.Desc(agent.FieldID))
	} else {
		query.Order(db.Asc(agent.FieldID))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("agent: list: %w", err)
	}
	agents := make([]*Agent, len(rows))
	for i, row := range rows {
		agents[i] = fromRow(row)
	}
	return agents, nil
}

// count counts the organization's agents.
func count(ctx context.Context, client *db.Client, organizationID string) (int, error) {
	n, err := client.Agent.Query().Where(agent.OrganizationID(organizationID), agent.DeletedAtIsNil()).Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("agent: count: %w", err)
	}
	return n, nil
}

func fromRow(row *db.Agent) *Agent {
	return &Agent{
		ID: row.ID, OrganizationID: row.OrganizationID, Name: row.Name, Scripting: row.Scripting, KeepsHome: row.KeepsHome, MaxScripts: row.MaxScripts,
		ConnectedTools: row.ConnectedTools, Tools: row.Tools, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}

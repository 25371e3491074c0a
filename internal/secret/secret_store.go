package secret

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scriptorium-dev/scriptorium/ent/db"
	"github.com/scriptorium-dev/scriptorium/ent/db/secret"
	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// keysLock is PostgreSQL's advisory lock for which keys the secrets are sealed with.
const keysLock = 0x5c1_5ec5

// sealedRow is a secret as the database has it.
type sealedRow struct {
	id     int
	place  place
	keyID  string
	sealed []byte
}

func fromRow(r *db.Secret) sealedRow {
	return sealedRow{r.ID, place{r.OrganizationID, r.AgentID, r.Name}, r.KeyID, r.Sealed}
}

// lockKeys makes servers that seal wait for each other until the transaction ends. On SQLite there is one.
func lockKeys(ctx context.Context, tx *database.Tx) error {
	if tx.Dialect() != database.Postgres {
		return nil
	}
	if _, err := tx.SQL().ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(keysLock)); err != nil {
		return fmt.Errorf("secret: wait for other servers: %w", err)
	}
	return nil
}

// unknownKeys answers the ids of keys that secrets are sealed with and the ring does not have, of all organizations.
func unknownKeys(ctx context.Context, q *database.Querier, keys *Keyring) ([]string, error) {
	rows, err := q.QueryContext(ctx, "SELECT DISTINCT key_id FROM secrets ORDER BY key_id")
	if err != nil {
		return nil, fmt.Errorf("secret: which keys: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	var unknown []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("secret: which keys: %w", err)
		}
		if !keys.has(id) {
			unknown = append(unknown, id)
		}
	}
	return unknown, rows.Err()
}

// sealedOf reads an agent's secrets, by name.
func sealedOf(ctx context.Context, client *db.Client, organizationID, agentID string) ([]sealedRow, error) {
	rows, err := client.Secret.Query().Where(secret.OrganizationID(organizationID), secret.AgentID(agentID)).Order(secret.ByName()).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("secret: read: %w", err)
	}
	sealed := make([]sealedRow, len(rows))
	for i, r := range rows {
		sealed[i] = fromRow(r)
	}
	return sealed, nil
}

// ofAgents reads what may be known of the agents' secrets, by name.
func ofAgents(ctx context.Context, client *db.Client, organizationID string, agentIDs []string) (map[string][]*Secret, error) {
	rows, err := client.Secret.Query().Where(secret.OrganizationID(organizationID), secret.AgentIDIn(agentIDs...)).
		Select(secret.FieldAgentID, secret.FieldName, secret.FieldDescription).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("secret: list: %w", err)
	}
	found := map[string][]*Secret{}
	for _, r := range rows {
		found[r.AgentID] = append(found[r.AgentID], &Secret{OrganizationID: organizationID, AgentID: r.AgentID, Name: r.Name, Description: r.Description})
	}
	for _, of := range found {
		slices.SortFunc(of, func(a, b *Secret) int { return strings.Compare(a.Name, b.Name) }) // bytewise on every database
	}
	return found, nil
}

// upsert writes a secret of an agent that is locked.
func upsert(ctx context.Context, tx *database.Tx, s *Secret, keyID string, sealed []byte, at time.Time) error {
	n, err := tx.Ent().Secret.Update().Where(secret.OrganizationID(s.OrganizationID), secret.AgentID(s.AgentID), secret.Name(s.Name)).
		SetDescription(s.Description).SetKeyID(keyID).SetSealed(sealed).SetUpdatedAt(at).Save(ctx)
	if err == nil && n == 0 {
		err = tx.Ent().Secret.Create().SetOrganizationID(s.OrganizationID).SetAgentID(s.AgentID).SetName(s.Name).SetDescription(s.Description).
			SetKeyID(keyID).SetSealed(sealed).SetCreatedAt(at).SetUpdatedAt(at).Exec(ctx)
	}
	if err != nil {
		return fmt.Errorf("secret: write: %w", err)
	}
	return nil
}

// remove removes a secret; false where there is none.
func remove(ctx context.Context, tx *database.Tx, organizationID, agentID, name string) (bool, error) {
	n, err := tx.Ent().Secret.Delete().Where(secret.OrganizationID(organizationID), secret.AgentID(agentID), secret.Name(name)).Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("secret: delete: %w", err)
	}
	return n > 0, nil
}

// removeAll removes all secrets of an agent.
func removeAll(ctx context.Context, tx *database.Tx, organizationID, agentID string) error {
	if _, err := tx.Ent().Secret.Delete().Where(secret.OrganizationID(organizationID), secret.AgentID(agentID)).Exec(ctx); err != nil {
		return fmt.Errorf("secret: delete an agent's: %w", err)
	}
	return nil
}

// forget removes the secrets of all organizations that other keys than these sealed.
func forget(ctx context.Context, tx *database.Tx, keyIDs []string) (int, error) {
	n, err := tx.Ent().Secret.Delete().Where(secret.KeyIDNotIn(keyIDs...)).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("secret: forget: %w", err)
	}
	return n, nil
}

// sealedByOthers reads and locks secrets of all organizations that another key than this one sealed.
func sealedByOthers(ctx context.Context, tx *database.Tx, keyID string, limit int) ([]sealedRow, error) {
	rows, err := tx.Ent().Secret.Query().Where(secret.KeyIDNEQ(keyID), database.ForUpdate).Order(secret.ByID()).Limit(limit).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("secret: read what other keys sealed: %w", err)
	}
	sealed := make([]sealedRow, len(rows))
	for i, r := range rows {
		sealed[i] = fromRow(r)
	}
	return sealed, nil
}

// replaceSeal writes what was sealed anew. When the secret was set does not change.
func replaceSeal(ctx context.Context, tx *database.Tx, r sealedRow, keyID string, sealed []byte) error {
	err := tx.Ent().Secret.Update().Where(secret.OrganizationID(r.place.organizationID), secret.ID(r.id)).SetKeyID(keyID).SetSealed(sealed).Exec(ctx)
	if err != nil {
		return fmt.Errorf("secret: write: %w", err)
	}
	return nil
}

package key

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/scriptorium-dev/scriptorium/ent/db"
	"github.com/scriptorium-dev/scriptorium/ent/db/key"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/organization"
)

// viewerBySecret finds the key with the secret's hash that is not revoked, with its organization; nil where there is none. Every
// request does this, so it is one raw statement.
func viewerBySecret(ctx context.Context, q *database.Querier, sum []byte) (*Viewer, error) {
	var k Key
	var o organization.Organization
	var capabilities, rules []byte
	err := q.QueryRowContext(ctx, `SELECT k.id, k.name, k.prefix, k.capabilities, k.tool_rules, k.exec_timeout_seconds, k.operator, k.created_at, k.last_used_at,
			o.id, o.name, o.parent_id, o.created_at, o.versions_need_approval
		FROM keys k JOIN organizations o ON o.id = k.organization_id WHERE k.secret_sha256 = $1 AND k.revoked_at IS NULL`, sum).
		Scan(&k.ID, &k.Name, &k.Prefix, &capabilities, &rules, &k.ExecTimeoutSeconds, &k.Operator, &k.CreatedAt, &k.LastUsedAt,
			&o.ID, &o.Name, &o.ParentID, &o.CreatedAt, &o.VersionsNeedApproval)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("key: look up: %w", err)
	}
	if err := json.Unmarshal(capabilities, &k.Capabilities); err != nil {
		return nil, fmt.Errorf("key: capabilities of %s: %w", k.ID, err)
	}
	if k.ToolRules, err = DecodeRules(rules); err != nil {
		return nil, err
	}
	k.OrganizationID = o.ID
	return &Viewer{Organization: &o, Key: &k, Operator: k.Operator}, nil
}

// insert writes a key's row.
func insert(ctx context.Context, tx *database.Tx, k *Key, sum []byte) error {
	capabilities := make([]string, len(k.Capabilities))
	for i, c := range k.Capabilities {
		capabilities[i] = string(c)
	}
	row := tx.Ent().Key.Create().SetID(k.ID).SetOrganizationID(k.OrganizationID).SetName(k.Name).SetPrefix(k.Prefix).SetSecretSha256(sum).
		SetCapabilities(capabilities).SetNillableExecTimeoutSeconds(k.ExecTimeoutSeconds).SetOperator(k.Operator).SetCreatedAt(k.CreatedAt)
	if len(k.ToolRules) > 0 {
		rules, err := json.Marshal(k.ToolRules)
		if err != nil {
			return fmt.Errorf("key: rules: %w", err)
		}
		row.SetToolRules(rules)
	}
	if err := row.Exec(ctx); err != nil {
		return fmt.Errorf("key: write: %w", err)
	}
	return nil
}

// byIDs reads keys of the organization.
func byIDs(ctx context.Context, client *db.Client, organizationID string, ids []string) (map[string]*Key, error) {
	rows, err := client.Key.Query().Where(key.OrganizationID(organizationID), key.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("key: read: %w", err)
	}
	found := make(map[string]*Key, len(rows))
	for _, row := range rows {
		if found[row.ID], err = fromRow(row); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// lockAny reads and locks a key of any organization, for the operator; nil where there is none.
func lockAny(ctx context.Context, tx *database.Tx, keyID string) (*Key, error) {
	row, err := tx.Ent().Key.Query().Where(key.ID(keyID), database.ForUpdate).Only(ctx)
	if db.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("key: lock: %w", err)
	}
	return fromRow(row)
}

// lockOperators locks all operator's keys that are not revoked and answers how many there are.
func lockOperators(ctx context.Context, tx *database.Tx) (int, error) {
	ids, err := tx.Ent().Key.Query().Where(key.Operator(true), key.RevokedAtIsNil(), database.ForUpdate).Order(key.ByID()).IDs(ctx)
	if err != nil {
		return 0, fmt.Errorf("key: lock the operator's: %w", err)
	}
	return len(ids), nil
}

// revoke ends a key.
func revoke(ctx context.Context, tx *database.Tx, keyID string, at time.Time) error {
	if err := tx.Ent().Key.UpdateOneID(keyID).SetRevokedAt(at).Exec(ctx); err != nil {
		return fmt.Errorf("key: revoke: %w", err)
	}
	return nil
}

// touch writes when keys were used.
func touch(ctx context.Context, d *database.DB, ids []string, at time.Time) error {
	return d.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		return tx.Ent().Key.Update().Where(key.IDIn(ids...), key.Or(key.LastUsedAtIsNil(), key.LastUsedAtLT(at))).SetLastUsedAt(at).Exec(ctx)
	})
}

// bootstrapLock is the number of PostgreSQL's advisory lock that the first start holds. Never change it.
const bootstrapLock = 7_236_281_946_112_451

// lockBootstrap makes servers that start at the same time wait for each other until the transaction ends. On SQLite there is one.
func lockBootstrap(ctx context.Context, tx *database.Tx) error {
	if tx.Dialect() != database.Postgres {
		return nil
	}
	if _, err := tx.SQL().ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(bootstrapLock)); err != nil {
		return fmt.Errorf("key: wait for the other servers' first start: %w", err)
	}
	return nil
}

// operatorOrganization answers the id of the organization that has the operator's first key, "" in an empty database.
func operatorOrganization(ctx context.Context, client *db.Client) (string, error) {
	row, err := client.Key.Query().Where(key.Operator(true)).Order(key.ByCreatedAt(), key.ByID()).First(ctx)
	if db.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("key: find the operator's: %w", err)
	}
	return row.OrganizationID, nil
}

// secretKnown says whether there is a key of the secret, revoked or not.
func secretKnown(ctx context.Context, client *db.Client, sum []byte) (bool, error) {
	known, err := client.Key.Query().Where(key.SecretSha256(sum)).Exist(ctx)
	if err != nil {
		return false, fmt.Errorf("key: look up: %w", err)
	}
	return known, nil
}

// organizationExists says whether there is an organization of the id, for the operator.
func organizationExists(ctx context.Context, tx *database.Tx, organizationID string) (bool, error) {
	var n int
	if err := tx.SQL().QueryRowContext(ctx, "SELECT COUNT(*) FROM organizations WHERE id = $1", organizationID).Scan(&n); err != nil {
		return false, fmt.Errorf("key: find the organization: %w", err)
	}
	return n == 1, nil
}

// DecodeRules reads rules as they are kept; nothing is none.
func DecodeRules(raw []byte) (rules []*ToolRule, err error) {
	if len(raw) == 0 {
		return []*ToolRule{}, nil
	}
	if err := json.Unmarshal(raw, &rules); err != nil {
		return nil, fmt.Errorf("key: rules: %w", err)
	}
	return rules, nil
}

func fromRow(row *db.Key) (*Key, error) {
	rules, err := DecodeRules(bytesOf(row.ToolRules))
	if err != nil {
		return nil, err
	}
	k := &Key{
		ID: row.ID, OrganizationID: row.OrganizationID, Name: row.Name, Prefix: row.Prefix, ExecTimeoutSeconds: row.ExecTimeoutSeconds,
		Operator: row.Operator, CreatedAt: row.CreatedAt, LastUsedAt: row.LastUsedAt, RevokedAt: row.RevokedAt,
		Capabilities: make([]Capability, len(row.Capabilities)), ToolRules: rules,
	}
	for i, c := range row.Capabilities {
		k.Capabilities[i] = Capability(c)
	}
	return k, nil
}

func bytesOf(b *[]byte) []byte {
	if b == nil {
		return nil
	}
	return *b
}

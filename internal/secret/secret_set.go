package secret

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// Set makes an agent's secret, or gives the one of this name a new description and value. Calls that start from then on have it. It needs TOOLING.
func (s *Service) Set(ctx context.Context, in SetInput) (*SetPayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	secret := &Secret{OrganizationID: v.Organization.ID, AgentID: in.Agent, Name: in.Name, Description: in.Description}
	var a *agent.Agent
	var created bool
	if err = in.check(); err == nil {
		err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			if a, err = s.agents.Lock(ctx, tx, v.Organization.ID, in.Agent); err != nil {
				return err
			}
			created, err = s.write(ctx, tx, secret, in)
			return err
		})
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &SetPayload{UserErrors: refused}, err
	}
	return &SetPayload{Agent: a, Secret: secret, Created: &created, UserErrors: refused}, nil
}

// write writes a secret of an agent that is locked. A value is sealed only where this server's keys open all others: with two keys that do not know each
// other, neither of two servers could run the agent's calls.
func (s *Service) write(ctx context.Context, tx *database.Tx, secret *Secret, in SetInput) (created bool, err error) {
	if err := lockKeys(ctx, tx); err != nil {
		return false, err
	}
	keys := s.keys.Load()
	unknown, err := unknownKeys(ctx, tx.SQL(), keys)
	if err != nil {
		return false, err
	}
	if len(unknown) > 0 {
		return false, &fault.NotConfigured{
			Detail: fault.NewDetail(fault.Unconfigured, "input.value",
				"this deployment has secrets that were sealed with a key that this server does not have: all servers need the same --secrets-key"),
			ReasonCode: "secrets_key_differs",
		}
	}
	rows, err := sealedOf(ctx, tx.Ent(), secret.OrganizationID, secret.AgentID)
	if err != nil {
		return false, err
	}
	created = true
	others, size := 0, 0
	for _, r := range rows {
		if r.place.name == in.Name {
			created = false
			continue
		}
		others, size = others+1, size+len(r.place.name)+len(r.sealed)-overhead
	}
	if err := checkRoom(in, others, size); err != nil {
		return false, err
	}
	keyID, sealed := keys.seal(place{secret.OrganizationID, secret.AgentID, in.Name}, in.Value)
	return created, upsert(ctx, tx, secret, keyID, sealed, s.now())
}

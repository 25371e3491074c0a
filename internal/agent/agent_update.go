package agent

import (
	"context"
	"errors"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Update changes an agent; what is nil stays. It needs TOOLING. A connected tool under the name of one of the agent's scripts is
// refused (S1-reserved), and so is the name of an organization's script that is not there; a cap below the number of scripts is not (S1-caplow).
func (s *Service) Update(ctx context.Context, in UpdateInput) (*UpdatePayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	var a *Agent
	err = errors.Join(checkName(in.Name), checkMaxScripts(in.MaxScripts), checkConnectedTools(in.ConnectedTools), checkTools(in.Tools))
	if err == nil {
		err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			a, err = s.updateInTx(ctx, tx, v, in)
			return err
		})
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &UpdatePayload{UserErrors: refused}, err
	}
	return &UpdatePayload{Agent: a, UserErrors: refused}, nil
}

func (s *Service) updateInTx(ctx context.Context, tx *database.Tx, v *key.Viewer, in UpdateInput) (*Agent, error) {
	a, err := s.Lock(ctx, tx, v.Organization.ID, in.Agent)
	if err != nil {
		return nil, err
	}
	if in.ConnectedTools != nil {
		if err := s.checkScripts(ctx, tx, a, in.ConnectedTools); err != nil {
			return nil, err
		}
		a.ConnectedTools = in.ConnectedTools
	}
	if in.Tools != nil {
		if err := checkNamed(ctx, tx, v, in.Tools, a.Tools); err != nil {
			return nil, err
		}
		a.Tools = in.Tools
	}
	if in.Name != nil {
		a.Name = *in.Name
	}
	if in.Scripting != nil {
		a.Scripting = *in.Scripting
	}
	if in.KeepsHome != nil {
		a.KeepsHome = *in.KeepsHome
	}
	if in.MaxScripts != nil {
		a.MaxScripts = *in.MaxScripts
	}
	a.UpdatedAt = s.now()
	return a, update(ctx, tx, a)
}

// checkScripts refuses names that the agent's scripts have, but for those that are connected already.
func (s *Service) checkScripts(ctx context.Context, tx *database.Tx, a *Agent, names []string) error {
	taken, err := s.names.NamesInUse(ctx, tx, a.OrganizationID, a.ID, names)
	if err != nil {
		return err
	}
	var faults []error
	for i, name := range names {
		if taken[name] && !a.Connects(name) {
			faults = append(faults, nameTaken(toolPath(i), name, "the script "+name))
		}
	}
	return errors.Join(faults...)
}

func checkName(name *string) error {
	if name == nil {
		return nil
	}
	return text.Label("input.name", *name)
}

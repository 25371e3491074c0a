package key

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Create makes a key. It needs MANAGEMENT; nobody gives more than the own key has.
func (s *Service) Create(ctx context.Context, in CreateInput) (*CreatePayload, error) {
	v, err := Permitted(ctx, Management)
	if err != nil {
		return nil, err
	}
	k, err := planned(v, in)
	var secret string
	if err == nil {
		err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			if err := s.findOrganization(ctx, tx, v, k.OrganizationID); err != nil {
				return err
			}
			secret, err = s.make(ctx, tx, k)
			return err
		})
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &CreatePayload{UserErrors: refused}, err
	}
	return &CreatePayload{Key: k, Secret: &secret, UserErrors: refused}, nil
}

// findOrganization refuses organizations that the viewer cannot make keys for, in the same words as one that does not exist.
func (s *Service) findOrganization(ctx context.Context, tx *database.Tx, v *Viewer, organizationID string) error {
	if organizationID == v.Organization.ID {
		return nil
	}
	exists := false
	if v.Operator && id.Is(id.Organization, organizationID) {
		var err error
		if exists, err = organizationExists(ctx, tx, organizationID); err != nil {
			return err
		}
	}
	if !exists {
		return fault.Plain(fault.NotFound, "input.organization", "input.organization: there is no such organization")
	}
	return nil
}

// planned checks the rules of a new key and answers it, without its id and secret.
func planned(v *Viewer, in CreateInput) (*Key, error) {
	k := &Key{OrganizationID: v.Organization.ID, Name: in.Name, ExecTimeoutSeconds: in.ExecTimeoutSeconds}
	if in.Organization != nil {
		k.OrganizationID = *in.Organization
	}
	var capabilities, rules, timeout error
	k.Capabilities, capabilities = grantable(v, in.Capabilities)
	k.ToolRules, rules = grantableRules(v, in.ToolRules)
	k.ExecTimeoutSeconds, timeout = grantableTimeout(v, in.ExecTimeoutSeconds)
	return k, errors.Join(text.Label("input.name", in.Name), capabilities, rules, timeout)
}

// grantable checks capabilities against the viewer's, and answers them in their fixed order.
func grantable(v *Viewer, wanted []Capability) ([]Capability, error) {
	all := Capabilities()
	var faults []error
	for i, c := range wanted {
		path := fmt.Sprintf("input.capabilities.%d", i)
		switch {
		case !slices.Contains(all, c):
			faults = append(faults, fault.Plain(fault.Invalid, path, "%s is not a capability", path))
		case slices.Index(wanted, c) != i:
			faults = append(faults, fault.Plain(fault.Invalid, path, "%s repeats %s", path, c))
		case !v.Has(c):
			faults = append(faults, fault.Plain(fault.Forbidden, path, "%s: your key does not have %s", path, c))
		}
		if len(faults) > len(all) {
			break // enough is said
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return slices.DeleteFunc(all, func(c Capability) bool { return !slices.Contains(wanted, c) }), nil
}

// maxExecTimeout bounds what a key may say, in seconds: a year.
const maxExecTimeout = 365 * 24 * 60 * 60

// grantableTimeout checks a timeout against the viewer's, which is also the default.
func grantableTimeout(v *Viewer, wanted *int) (*int, error) {
	const path = "input.execTimeoutSeconds"
	own := v.Key.ExecTimeoutSeconds
	switch {
	case wanted == nil:
		return own, nil
	case *wanted < 1 || *wanted > maxExecTimeout:
		return nil, fault.Plain(fault.Invalid, path, "%s must be from 1 to %d", path, maxExecTimeout)
	case own != nil && *wanted > *own:
		return nil, fault.Plain(fault.Forbidden, path, "%s: your key has %d", path, *own)
	}
	return wanted, nil
}

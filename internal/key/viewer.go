package key

import (
	"context"
	"slices"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/organization"
)

// Viewer is who asks (SDL: Viewer).
type Viewer struct {
	Organization *organization.Organization
	Key          *Key
	Operator     bool
}

// Has says whether the viewer's key has the capability.
func (v *Viewer) Has(c Capability) bool { return slices.Contains(v.Key.Capabilities, c) }

// Require answers a DENIED Problem where the viewer's key lacks the capability.
func (v *Viewer) Require(c Capability) error {
	if v.Has(c) {
		return nil
	}
	return fault.NewProblem(fault.Denied, "this needs a key with the capability %s", c)
}

// RequireOperator answers a DENIED Problem where the viewer's key is not the operator's.
func (v *Viewer) RequireOperator() error {
	if v.Operator {
		return nil
	}
	return fault.NewProblem(fault.Denied, "this needs the operator's key")
}

// Sees says whether the viewer may see the organization: its own, and the operator every one.
func (v *Viewer) Sees(organizationID string) bool {
	return v.Operator || v.Organization.ID == organizationID
}

type viewerKey struct{}

// WithViewer puts the viewer of a request into its context.
func WithViewer(ctx context.Context, v *Viewer) context.Context {
	return context.WithValue(ctx, viewerKey{}, v)
}

// From answers the viewer of a request, or an UNAUTHENTICATED Problem where there is none.
func From(ctx context.Context) (*Viewer, error) {
	if v, ok := ctx.Value(viewerKey{}).(*Viewer); ok {
		return v, nil
	}
	return nil, errUnauthenticated()
}

// Permitted answers the viewer of a request where its key has the capability, and an UNAUTHENTICATED or DENIED Problem elsewhere.
func Permitted(ctx context.Context, c Capability) (*Viewer, error) {
	v, err := From(ctx)
	if err != nil {
		return nil, err
	}
	return v, v.Require(c)
}

// errUnauthenticated is the same whatever is wrong with a key, so that nothing can be learnt from it.
func errUnauthenticated() *fault.Problem {
	return fault.NewProblem(fault.Unauthenticated, "this needs a valid key: Authorization: Bearer <secret>")
}

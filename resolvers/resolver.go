package resolvers

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/approval"
	"github.com/scriptorium-dev/scriptorium/internal/artifact"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/deployment"
	"github.com/scriptorium-dev/scriptorium/internal/file"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/organization"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/secret"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
)

// Resolver holds the services that the fields are answered by. All are needed.
type Resolver struct {
	Organizations *organization.Service
	Keys          *key.Service
	Agents        *agent.Service
	Secrets       *secret.Service
	Files         *file.Service
	Artifacts     *artifact.Service
	Tools         *tool.Service
	Scripts       *script.Service
	Approvals     *approval.Service
	Changes       *change.Service
	Runs          *run.Service
	Calls         *call.Service
	Deployments   *deployment.Service
}

// Authenticate looks up the key of an Authorization header and answers a context with its viewer: what the edge calls before an operation.
func (r *Resolver) Authenticate(ctx context.Context, authorization string) (context.Context, error) {
	v, err := r.Keys.Authenticate(ctx, authorization)
	if err != nil {
		return nil, err
	}
	return key.WithViewer(ctx, v), nil
}

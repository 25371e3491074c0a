package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/approval"
	"github.com/scriptorium-dev/scriptorium/internal/artifact"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/deployment"
	"github.com/scriptorium-dev/scriptorium/internal/file"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/organization"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/secret"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
	"github.com/scriptorium-dev/scriptorium/resolvers"
)

// words are the services of the domain, joined: what a lower word needs of a higher one is given to it here.
type words struct {
	resolvers.Resolver
	idempotencies *idempotency.Service
	host          *run.Host

	cancel context.CancelFunc
	work   sync.WaitGroup
}

// joinWords makes the services from the bottom up, then joins them.
func (s *server) joinWords(c run.Config) (*words, error) {
	w := &words{}
	w.Organizations = organization.NewService(s.db)
	w.Keys = key.NewService(s.db, w.Organizations)
	w.Changes = change.NewService(s.db, s.bus)
	w.idempotencies = idempotency.NewService(s.db)
	w.Agents = agent.NewService(s.db, w.idempotencies)
	w.Secrets = secret.NewService(s.db, w.Agents)
	w.Files = file.NewService(s.db, s.blobs)
	w.Artifacts = artifact.NewService(s.db, w.Files)
	w.Scripts = script.NewService(s.db, w.Agents, w.Changes, w.idempotencies, w.Files)
	w.Approvals = approval.NewService(s.db, w.Scripts)
	w.Tools = tool.NewService(s.db, w.Scripts)
	c.Blobs, c.Files = s.blobs, w.Files
	w.host = run.NewHost(s.db, s.bus, s.runner, c)
	w.Runs = run.NewService(s.db, w.Agents, w.Scripts, w.Tools, w.Files, w.idempotencies, w.host)
	w.Calls = call.NewService(s.db, s.bus, s.outputs, w.Scripts, w.Secrets, w.Keys, w.Artifacts, w.idempotencies, w.host, call.Config{
		TimeoutLimit: s.config.CallTimeoutLimit, MaskWait: s.config.maskWait, Log: s.log,
	})

	w.Organizations.Join(w.Keys)
	w.Agents.Join(w.Scripts, w.Runs.AgentRemoval(), w.Scripts, w.Secrets.AgentRemoval())
	w.Scripts.Join(w.host.Scripts(), w.host.Scripts(), w.host.Scripts())
	w.host.Join(w.Calls)

	var err error
	w.Deployments, err = deployment.NewService(version, s.config.limits(), w.host)
	return w, err
}

// start makes the first organization and key where there is none, and starts what works in the background.
func (w *words) start(ctx context.Context, s *server) error {
	if err := w.Keys.Bootstrap(ctx, s.config.Data); err != nil {
		return err
	}
	if err := w.Secrets.Unlock(ctx, s.config.secretsKey()); err != nil {
		return told{err}
	}
	if err := w.Calls.Recover(ctx); err != nil {
		return err
	}
	if err := w.host.Start(ctx); err != nil {
		return err
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.cancel = cancel
	for name, work := range map[string]func(context.Context) error{"keys": w.Keys.Run, "idempotency keys": w.idempotencies.Run, "secrets": w.Secrets.Run, "contents": w.Files.Run} {
		w.work.Go(func() {
			if err := work(background); err != nil && !errors.Is(err, context.Canceled) {
				slog.Error("background work ended", "of", name, "error", err)
			}
		})
	}
	return nil
}

// stop ends the calls under way, then the background.
func (w *words) stop(ctx context.Context, s *server) error {
	err := s.hurried(ctx, w.host.Stop)
	if w.cancel != nil {
		w.cancel()
	}
	w.work.Wait()
	return err
}

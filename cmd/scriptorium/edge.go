package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/scriptorium-dev/scriptorium/graph"
	"github.com/scriptorium-dev/scriptorium/graph/generated"
	"github.com/scriptorium-dev/scriptorium/graph/playground"
	"github.com/scriptorium-dev/scriptorium/internal/artifact"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/deployment"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/file"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/output"
	"github.com/scriptorium-dev/scriptorium/internal/page"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/secret"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
	"github.com/scriptorium-dev/scriptorium/resolvers"
	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/schema"
)

// buildEdge makes the API's handler and the routes beside it.
func (s *server) buildEdge() error {
	public, err := schema.Load()
	if err != nil {
		return err
	}
	s.edge = graph.New(graph.Config{
		Schema:         generated.NewExecutableSchema(generated.Config{Schema: public, Resolvers: &s.words.Resolver}),
		Authenticate:   s.words.Authenticate,
		Answer:         resolvers.WithFamilies,
		AllowedOrigins: s.config.AllowedOrigins,
		Timeout:        s.operationTimeout,
		Unreachable:    database.IsUnreachable,
		Timing:         s.config.timing,
		Logger:         s.log,
	})
	mux := http.NewServeMux()
	mux.Handle("/graphql", s.edge)
	page := playground.Handler("/graphql")
	mux.Handle("GET /{$}", http.RedirectHandler("/playground", http.StatusFound))
	mux.Handle("/playground", page)
	mux.Handle("/playground/", page)
	s.routeBytes(mux)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	s.handler = mux
	return nil
}

// waitMargin is what a waiting toolCall may take besides its call's own time: the computer that is made for it, and the answer.
const waitMargin = 60 * time.Second

// operationTimeout gives an operation that waits for a call as long as calls may take.
func (s *server) operationTimeout(o *graphql.OperationContext) time.Duration {
	if graph.Selects(o, "toolCall") || graph.Selects(o, "runGenerationStart") {
		return s.config.CallTimeoutLimit + waitMargin
	}
	return 0
}

// callOutput answers GET /calls/<id>/output?stream=STDOUT or STDERR: the raw bytes that a call has printed on that stream. Of a call that runs
// these are the bytes until now.
func (s *server) callOutput(w http.ResponseWriter, r *http.Request) error {
	stream := call.OutputStream(r.URL.Query().Get("stream"))
	if stream != call.Stdout && stream != call.Stderr {
		return fault.NewProblem(fault.BadRequest, "stream must be STDOUT or STDERR")
	}
	v, err := key.From(r.Context())
	if err != nil {
		return err
	}
	_, bytes, err := s.words.Calls.Raw(r.Context(), v.Organization.ID, r.PathValue("id"), stream, 0)
	if err != nil {
		return err
	}
	// The first bytes are read before the answer begins, so that output that is gone is an error and not an empty answer.
	buffered := bufio.NewReaderSize(bytes, 64<<10)
	switch _, err := buffered.Peek(1); {
	case errors.Is(err, output.ErrGone):
		return fault.NewProblem(fault.Missing, "the output is not kept any more")
	case err != nil && !errors.Is(err, io.EOF):
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-store")
	if _, err := io.Copy(w, buffered); err != nil {
		if r.Context().Err() == nil {
			s.log.Error("sending the output of a call ended early", "call", r.PathValue("id"), "error", err)
		}
		panic(http.ErrAbortHandler) // the client must not take it for the whole
	}
	return nil
}

// ready says whether this server can do its work: 200 where the database answers.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	if err := s.db.Ping(ctx); err != nil {
		s.log.Error("the database does not answer", "error", err)
		writeText(w, http.StatusServiceUnavailable, "the database does not answer")
		return
	}
	if err := s.bus.Ping(ctx); err != nil {
		// Writes go on, and events arrive when it is back: still ready.
		writeText(w, http.StatusOK, "ready; the event bus does not answer, events from other servers are late")
		return
	}
	writeText(w, http.StatusOK, "ready")
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the client may be gone
}

// limits are the limits in force, as `deployment` shows them.
func (c *config) limits() deployment.Limits {
	l := graph.DefaultLimits
	return deployment.Limits{
		"bodyBytes": int64(l.Body), "documentBytes": int64(l.Document), "documentTokens": int64(l.Tokens), "fieldsOfOneName": int64(l.SameName),
		"aliases": int64(l.Aliases), "rootFields": int64(l.RootFields), "depth": int64(l.Depth), "complexity": int64(l.Complexity),
		"operationSeconds": int64(l.Time / time.Second), "jsonDepth": int64(l.ValueDepth), "socketOperations": int64(l.SocketOperations),
		"pageSize": page.Max, "scriptSourceBytes": script.MaxSource, "environmentBytes": run.MaxEnvironmentBytes,
		"secretsPerAgent": secret.MaxSecrets, "secretValueBytes": secret.MaxValue, "secretsBytes": secret.MaxBytes,
		"callTimeoutSeconds": int64(c.CallTimeoutLimit / time.Second), "outputKeptBytes": output.DefaultBound, "answerBytes": call.MaxAnswer,
		"computers": int64(c.Computers), "computerIdleSeconds": int64(c.ComputerIdle / time.Second), "queuedCalls": int64(c.Queue),
		"queuedCallsOfRun": call.DefaultMaxQueued, "queueSeconds": int64(call.MaxQueueTime / time.Second),
		"computerMemoryBytes": runner.DefaultMemoryBytes, "workspaceBytes": runner.DefaultWorkspaceBytes, "homeBytes": runner.DefaultHomeBytes,
		"toolsOfRun": tool.MaxTools, "toolEntries": tool.MaxEntries, "attachments": run.MaxAttachments, "attachmentBytes": run.MaxAttachmentBytes, "attachmentsBytes": run.MaxAttachedBytes,
		"artifactsPerCall": artifact.MaxPerCall, "artifactBytes": artifact.MaxBytes, "artifactContentBytes": artifact.MaxContent, "leftOnComputer": call.MaxLeft,
		"packageFiles": script.MaxFiles, "packageBytes": script.MaxPackage, "labels": script.MaxLabels, "uploadBytes": file.MaxUpload, "uploadsOfRequest": graph.MaxUploads,
		"toolRules": key.MaxToolRules, "scriptsBytes": runner.DefaultScriptsBytes, "tmpBytes": runner.DefaultTmpBytes, "processes": runner.DefaultProcesses, "openFiles": runner.DefaultOpenFiles,
	}
}

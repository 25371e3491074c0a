package graph

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

type requestIDKey struct{}

// withRequestID gives ctx a fresh request id. Over HTTP it is the request's, on a socket each operation's.
func withRequestID(ctx context.Context) context.Context {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return context.WithValue(ctx, requestIDKey{}, hex.EncodeToString(b[:]))
}

// RequestID answers the id of the request that ctx belongs to, as the header X-Request-Id and an error's
// extensions.requestId carry it: 24 hexadecimal digits, or "" outside a request.
func RequestID(ctx context.Context) string {
	s, _ := ctx.Value(requestIDKey{}).(string)
	return s
}

// refuse makes an error of the edge's own.
func refuse(code fault.ProblemCode, format string, args ...any) *gqlerror.Error {
	return gqlerror.Wrap(fault.NewProblem(code, format, args...))
}

// coded gives an error that a library made (a parse or validation error) its code; message, path and locations stay.
func coded(code fault.ProblemCode, err *gqlerror.Error) *gqlerror.Error {
	return &gqlerror.Error{Err: fault.NewProblem(code, "%s", err.Message), Message: err.Message, Path: err.Path, Locations: err.Locations}
}

// panicked is a panic on its way to the log.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// recovered keeps a panic's stack; present logs it.
func recovered(_ context.Context, value any) error {
	return &panicked{value, debug.Stack()}
}

// present turns any error into what a client sees. It is the only place that decides so, and the only one that logs.
func (h *Handler) present(ctx context.Context, err error) *gqlerror.Error {
	out := &gqlerror.Error{}
	if g, ok := errors.AsType[*gqlerror.Error](err); ok {
		out.Path, out.Locations = g.Path, g.Locations
	} else if graphql.GetFieldContext(ctx) != nil {
		out.Path = graphql.GetPath(ctx)
	}
	code, message := h.classify(ctx, err)
	out.Message = message
	out.Extensions = map[string]any{"code": string(code), "requestId": RequestID(ctx)}
	return out
}

// classify answers the code and the message of an error; an internal one is logged, and answered without detail.
func (h *Handler) classify(ctx context.Context, err error) (fault.ProblemCode, string) {
	if p, ok := errors.AsType[*fault.Problem](err); ok {
		if cause := p.Unwrap(); cause != nil {
			h.log.WarnContext(ctx, "refused", "code", p.Code, "requestId", RequestID(ctx), "error", cause)
		}
		return p.Code, p.Message
	}
	if u, ok := errors.AsType[fault.UserError](err); ok {
		return fault.BadRequest, u.Error()
	}
	_, isPanic := errors.AsType[*panicked](err)
	switch {
	case isPanic:
	case errors.Is(err, context.DeadlineExceeded), errors.Is(ctx.Err(), context.DeadlineExceeded):
		// Drivers answer errors of their own when their context ends.
		return fault.TimedOut, "the request took longer than it may"
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrStopping):
		return fault.Unavailable, ErrStopping.Error()
	case ctx.Err() != nil:
		return fault.TimedOut, "the request was cancelled"
	case badArgument(ctx):
		return fault.ValidationFailed, messageOf(err)
	case h.unreachable != nil && h.unreachable(err):
		h.log.ErrorContext(ctx, "the database cannot be reached", "requestId", RequestID(ctx), "error", err)
		return fault.Unavailable, "the database cannot be reached: try again in a moment"
	}
	attrs := []any{"requestId", RequestID(ctx), "error", err}
	if p, ok := errors.AsType[*panicked](err); ok {
		attrs = append(attrs, "stack", string(p.stack))
	}
	h.log.ErrorContext(ctx, "internal error", attrs...)
	return fault.Internal, "internal error"
}

// badArgument reports whether the error arose while a field's arguments were read: a field that has arguments, but no values.
func badArgument(ctx context.Context) bool {
	f := graphql.GetFieldContext(ctx)
	return f != nil && f.Args == nil && f.Field.Field != nil && f.Field.Definition != nil && len(f.Field.Definition.Arguments) > 0
}

// messageOf answers the text of an error without the position that gqlerror puts in front.
func messageOf(err error) string {
	if g, ok := errors.AsType[*gqlerror.Error](err); ok {
		return g.Message
	}
	return err.Error()
}

// codeOf answers the code of a presented error.
func codeOf(err *gqlerror.Error) fault.ProblemCode {
	s, _ := err.Extensions["code"].(string)
	return fault.ProblemCode(s)
}

// presented turns refusals from before execution into a response without data.
func (h *Handler) presented(ctx context.Context, errs gqlerror.List) *graphql.Response {
	out := make(gqlerror.List, len(errs))
	for i, e := range errs {
		out[i] = h.present(ctx, e)
	}
	return &graphql.Response{Errors: out}
}

// statusOf answers the HTTP status of a response without data, for the media type that it is written in: a document that does not parse
// or validate is 200 in the old one and 400 in the new one, as GraphQL over HTTP has it.
func statusOf(errs gqlerror.List, media string) int {
	if len(errs) == 0 {
		return http.StatusOK
	}
	switch codeOf(errs[0]) {
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Internal:
		return http.StatusInternalServerError
	case fault.ParseFailed, fault.ValidationFailed:
		if media == mediaJSON {
			return http.StatusOK
		}
	}
	return http.StatusBadRequest
}

// at gives an error the path of the thing at fault.
func at(err *gqlerror.Error, path ...string) *gqlerror.Error {
	for _, p := range path {
		err.Path = append(err.Path, ast.PathName(p))
	}
	return err
}

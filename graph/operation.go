package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// caller is who makes a request.
type caller struct {
	// authorization is the header or the member of connection_init, "" where there is none.
	authorization string
	// known is true where a key was given, and is good.
	known bool
	// key is the key's id, whatever spelling of the header named it.
	key string
}

// identify looks the caller's key up. Without one there is nothing to look up; a bad one is refused whatever is asked.
func (h *Handler) identify(ctx context.Context, authorization string) (context.Context, caller, *gqlerror.Error) {
	who := caller{authorization: authorization}
	if authorization == "" {
		return ctx, who, nil
	}
	known, err := h.lookUp(ctx, authorization)
	if err != nil {
		return ctx, who, gqlerror.Wrap(err)
	}
	who.known = true
	if v, err := key.From(known); err == nil {
		who.key = v.Key.ID
	}
	return known, who, nil
}

// lookUp calls Config.Authenticate; a panic in it is an error.
func (h *Handler) lookUp(ctx context.Context, authorization string) (known context.Context, err error) {
	defer func() {
		if p := recover(); p != nil {
			known, err = ctx, recovered(ctx, p)
		}
	}()
	return h.authenticate(ctx, authorization)
}

// choose checks a request's document and answers it with the operation that is asked for.
func (h *Handler) choose(req *request, who caller) (*ast.QueryDocument, *ast.OperationDefinition, gqlerror.List) {
	doc, errs := h.check(req.query)
	if errs != nil {
		return nil, nil, errs
	}
	op := doc.Operations.ForName(req.operationName)
	if op == nil && req.operationName == "" {
		err := refuse(fault.ValidationFailed, "operationName is missing: the document holds %d operations", len(doc.Operations))
		return nil, nil, gqlerror.List{at(err, "operationName")}
	}
	if op == nil {
		return nil, nil, gqlerror.List{at(refuse(fault.ValidationFailed, "the document holds no operation of the name in operationName"), "operationName")}
	}
	if fields, _ := rootFields(op); !who.known && needsKey(fields) {
		return nil, nil, gqlerror.List{refuse(fault.Unauthenticated, "a key is needed: Authorization: Bearer <secret>")}
	}
	return doc, op, nil
}

// rootFields answers the fields at an operation's root, one for each response name, and the place of a @skip or @include among them.
func rootFields(op *ast.OperationDefinition) ([]*ast.Field, *ast.Position) {
	var fields []*ast.Field
	var conditional *ast.Position
	names, spread := map[string]bool{}, map[string]bool{}
	var walk func(ast.SelectionSet)
	walk = func(set ast.SelectionSet) {
		for _, sel := range set {
			for _, d := range directivesOf(sel) {
				if d.Name == "skip" || d.Name == "include" {
					conditional = d.Position
				}
			}
			switch sel := sel.(type) {
			case *ast.Field:
				if !names[sel.Alias] {
					names[sel.Alias] = true
					fields = append(fields, sel)
				}
			case *ast.InlineFragment:
				walk(sel.SelectionSet)
			case *ast.FragmentSpread:
				if sel.Definition != nil && !spread[sel.Name] {
					spread[sel.Name] = true
					walk(sel.Definition.SelectionSet)
				}
			}
		}
	}
	walk(op.SelectionSet)
	return fields, conditional
}

// Selects reports whether an operation has the root field of that name, under whatever alias; Config.Timeout may ask.
func Selects(oc *graphql.OperationContext, name string) bool {
	fields, _ := rootFields(oc.Operation)
	return slices.ContainsFunc(fields, func(f *ast.Field) bool { return f.Name == name })
}

func directivesOf(sel ast.Selection) ast.DirectiveList {
	switch sel := sel.(type) {
	case *ast.Field:
		return sel.Directives
	case *ast.InlineFragment:
		return sel.Directives
	case *ast.FragmentSpread:
		return sel.Directives
	}
	return nil
}

// needsKey reports whether any root field asks for more than the schema.
func needsKey(fields []*ast.Field) bool {
	for _, f := range fields {
		if f.Name != "__typename" && !isIntrospection(f.Name) {
			return true
		}
	}
	return false
}

// prepare reads the variables, and answers the operation ready to be executed.
func (h *Handler) prepare(
	ctx context.Context, req *request, doc *ast.QueryDocument, op *ast.OperationDefinition,
) (*graphql.OperationContext, gqlerror.List) {
	if err := checkFiles(h.schema.Schema(), op, req.files); err != nil {
		return nil, gqlerror.List{err}
	}
	doc, variables, errs := h.readVariables(doc, op, req.variables)
	if errs != nil {
		return nil, errs
	}
	now := graphql.Now()
	ctx = graphql.StartOperationTrace(context.WithValue(ctx, preparedKey{}, doc))
	oc, errs := h.exec.CreateOperationContext(ctx, &graphql.RawParams{
		Query: req.query, OperationName: req.operationName, Variables: variables, Extensions: req.extensions, Headers: req.headers,
		ReadTime: graphql.TraceTiming{Start: now, End: now},
	})
	if errs != nil {
		for i, e := range errs {
			errs[i] = coded(fault.ValidationFailed, e)
		}
		return nil, errs
	}
	oc.DisableIntrospection = false
	if err := h.checkCost(doc, oc.Operation, oc.Variables); err != nil {
		return nil, gqlerror.List{err}
	}
	return oc, nil
}

// lifetime answers the context that an operation runs under, and what ends it. A subscription ends as soon as the server stops;
// everything else has its time, and a mutation goes on without the client: what it has begun is not left half done.
func (h *Handler) lifetime(ctx context.Context, oc *graphql.OperationContext) (context.Context, context.CancelFunc) {
	kind, until := oc.Operation.Operation, h.forced
	if kind == ast.Mutation {
		ctx = context.WithoutCancel(ctx)
	}
	if kind == ast.Subscription {
		until = h.stopping
	}
	ctx, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(until, func() { cancel(context.Cause(until)) })
	end := func() {
		release()
		cancel(nil)
	}
	if kind == ast.Subscription {
		return ctx, end
	}
	var d time.Duration
	if h.timeout != nil {
		d = h.timeout(oc)
	}
	if d <= 0 {
		d = h.limits.Time
	}
	ctx, stop := context.WithTimeout(ctx, d)
	return ctx, func() {
		stop()
		end()
	}
}

// execution is an operation under way: answer yields its answers one by one, then nil.
type execution struct {
	h    *Handler
	ctx  context.Context
	next graphql.ResponseHandler
}

// execute starts an operation. ctx is its lifetime.
func (h *Handler) execute(ctx context.Context, oc *graphql.OperationContext) (e *execution) {
	e = &execution{h: h}
	defer func() {
		if p := recover(); p != nil {
			e.ctx, e.next = ctx, graphql.OneShot(h.presented(ctx, gqlerror.List{gqlerror.Wrap(recovered(ctx, p))}))
		}
	}()
	e.next, e.ctx = h.exec.DispatchOperation(ctx, oc)
	return e
}

// answer yields the next answer, or nil at the end. A panic becomes an answer, the last one.
func (e *execution) answer() (r *graphql.Response) {
	defer func() {
		if p := recover(); p != nil {
			r = e.h.presented(e.ctx, gqlerror.List{gqlerror.Wrap(recovered(e.ctx, p))})
			e.next = func(context.Context) *graphql.Response { return nil }
		}
	}()
	return e.next(e.ctx)
}

// expired is the answer to an operation whose context ended before it began.
func (h *Handler) expired(ctx context.Context) *graphql.Response {
	return h.presented(ctx, gqlerror.List{gqlerror.Wrap(ctx.Err())})
}

// encode writes a response as JSON. Data is written as it is: the bytes of a JSON scalar are not touched again.
func encode(r *graphql.Response) []byte {
	var b bytes.Buffer
	b.Grow(len(r.Data) + 64)
	b.WriteByte('{')
	if len(r.Errors) > 0 {
		b.WriteString(`"errors":`)
		writeJSON(&b, r.Errors)
	}
	if r.Data != nil {
		if len(r.Errors) > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"data":`)
		b.Write(r.Data)
	}
	if len(r.Extensions) > 0 {
		b.WriteString(`,"extensions":`)
		writeJSON(&b, r.Extensions)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// writeJSON writes a value whose types are the edge's own: it cannot fail.
func writeJSON(b *bytes.Buffer, v any) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	b.Truncate(b.Len() - 1) // its newline
}

package graph

import (
	"container/list"
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// maxErrors bounds the validation errors that one document is answered with.
const maxErrors = 50

// check parses and validates a document, or takes it from the cache. The order matters: what is counted cheaply (bytes, tokens, the shape) is
// counted first, since validation takes time that grows faster than the document.
func (h *Handler) check(text string) (*ast.QueryDocument, gqlerror.List) {
	if doc := h.documents.get(text); doc != nil {
		return doc, nil
	}
	if err := h.limits.checkText(text); err != nil {
		return nil, gqlerror.List{err}
	}
	doc, err := parser.ParseQuery(&ast.Source{Input: text})
	if err != nil {
		g := &gqlerror.Error{Message: err.Error()}
		if e, ok := err.(*gqlerror.Error); ok {
			g = e
		}
		return nil, gqlerror.List{coded(fault.ParseFailed, g)}
	}
	if len(doc.Operations) == 0 {
		return nil, gqlerror.List{refuse(fault.ValidationFailed, "the document holds no operation")}
	}
	if err := h.limits.checkShape(doc); err != nil {
		return nil, gqlerror.List{err}
	}
	if errs := validator.ValidateWithRules(h.schema.Schema(), doc, rules.NewDefaultRules()); len(errs) > 0 {
		out := gqlerror.List{}
		for _, e := range errs[:min(len(errs), maxErrors)] {
			out = append(out, validationError(e))
		}
		return nil, out
	}
	if err := checkSubscriptions(doc); err != nil {
		return nil, gqlerror.List{err}
	}
	h.documents.put(text, doc)
	return doc, nil
}

// validationError gives an error of the validator its code; the one about introspection is about a limit.
func validationError(e *gqlerror.Error) *gqlerror.Error {
	if e.Rule == rules.MaxIntrospectionDepth.Name {
		e.Message = "introspection may nest fields, interfaces, possibleTypes and inputFields at most 2 deep"
		return coded(fault.LimitExceeded, e)
	}
	return coded(fault.ValidationFailed, e)
}

// checkSubscriptions holds what gqlparser's rule for subscriptions leaves open: the one root field may not come under two names, nor
// depend on @skip or @include.
func checkSubscriptions(doc *ast.QueryDocument) *gqlerror.Error {
	for _, op := range doc.Operations {
		if op.Operation != ast.Subscription {
			continue
		}
		fields, conditional := rootFields(op)
		if conditional != nil {
			return coded(fault.ValidationFailed, gqlerror.ErrorPosf(conditional, "a subscription's root field cannot depend on @skip or @include"))
		}
		if len(fields) != 1 {
			return coded(fault.ValidationFailed, gqlerror.ErrorPosf(op.Position, "a subscription selects exactly one root field"))
		}
	}
	return nil
}

// documentCache keeps the documents that were used last, bounded by the bytes of their text. Documents in it are shared and never changed.
type documentCache struct {
	mu    sync.Mutex
	limit int
	bytes int
	order *list.List // of *cachedDocument, the last used first
	byKey map[string]*list.Element
}

type cachedDocument struct {
	text string
	doc  *ast.QueryDocument
}

func newDocumentCache(limit int) *documentCache {
	return &documentCache{limit: limit, order: list.New(), byKey: map[string]*list.Element{}}
}

func (c *documentCache) get(text string) *ast.QueryDocument {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[text]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cachedDocument).doc
}

func (c *documentCache) put(text string, doc *ast.QueryDocument) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byKey[text]; ok || len(text) > c.limit {
		return
	}
	c.byKey[text] = c.order.PushFront(&cachedDocument{text, doc})
	c.bytes += len(text)
	for c.bytes > c.limit {
		last := c.order.Remove(c.order.Back()).(*cachedDocument)
		delete(c.byKey, last.text)
		c.bytes -= len(last.text)
	}
}

type preparedKey struct{}

// prepared hands the executor the document that was checked for this very request; it never parses or validates itself.
type prepared struct{}

var _ graphql.Cache[*ast.QueryDocument] = prepared{}

// Get answers the document that the request's context carries.
func (prepared) Get(ctx context.Context, _ string) (*ast.QueryDocument, bool) {
	doc, ok := ctx.Value(preparedKey{}).(*ast.QueryDocument)
	return doc, ok
}

// Add does nothing.
func (prepared) Add(context.Context, string, *ast.QueryDocument) {}

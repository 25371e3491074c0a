package graph

import (
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"

	"github.com/scriptorium-dev/scriptorium/graph/input"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// Limits bound what one request may cost. A request past one of them is refused with LIMIT_EXCEEDED, before anything of it is executed.
type Limits struct {
	// Body is the longest body, query string or WebSocket message in bytes.
	Body int
	// Document is the longest document in bytes.
	Document int
	// Tokens is the most tokens of a document, comments among them.
	Tokens int
	// SameName is the most fields of one response name in a selection set, fragments spread out.
	SameName int
	// Aliases is the most aliased fields of a document.
	Aliases int
	// RootFields is the most response names at an operation's root.
	RootFields int
	// Depth is how deep fields may nest; introspection has a bound of its own.
	Depth int
	// Fragments is the most fragments of a document.
	Fragments int
	// Directives is the most directives of a document.
	Directives int
	// ValueDepth is how deep lists and objects may nest in a document's literals and in variables.
	ValueDepth int
	// Complexity is the most an operation may cost: 1 a field; a connection's children count first, last or 50 times.
	Complexity int
	// Time is how long an operation may take, subscriptions excepted.
	Time time.Duration
	// SocketOperations is the most operations under way on one socket.
	SocketOperations int
	// SocketPayload is how many bytes the subscribe messages of the operations under way on one socket may have together.
	SocketPayload int
	// SocketQueue is how many bytes may wait for one socket; operations wait in turn.
	SocketQueue int
	// DocumentCache is how many bytes of checked documents are kept for the next request.
	DocumentCache int
}

// DefaultLimits are the limits that the API promises.
var DefaultLimits = Limits{
	Body: 1 << 20, Document: 64 << 10, Tokens: 4000, SameName: 200, Aliases: 100, RootFields: 20, Depth: 15, Fragments: 200,
	Directives: 200, ValueDepth: input.MaxDepth, Complexity: 10_000, Time: 30 * time.Second, SocketOperations: 100, SocketPayload: 4 << 20, SocketQueue: 256 << 10,
	DocumentCache: 4 << 20,
}

// introspectionDepth is how deep introspection may nest: exactly what the standard query needs.
const introspectionDepth = 15

// introspectionFactor is how many times the cost of the standard introspection query an operation may spend on introspection.
const introspectionFactor = 4

// withDefaults answers l with its zero fields filled in.
func (l Limits) withDefaults() Limits {
	d := DefaultLimits
	for _, f := range []struct{ value, other *int }{
		{&l.Body, &d.Body}, {&l.Document, &d.Document}, {&l.Tokens, &d.Tokens}, {&l.SameName, &d.SameName}, {&l.Aliases, &d.Aliases},
		{&l.RootFields, &d.RootFields}, {&l.Depth, &d.Depth}, {&l.Fragments, &d.Fragments}, {&l.Directives, &d.Directives},
		{&l.ValueDepth, &d.ValueDepth}, {&l.Complexity, &d.Complexity}, {&l.SocketOperations, &d.SocketOperations}, {&l.SocketPayload, &d.SocketPayload},
		{&l.SocketQueue, &d.SocketQueue}, {&l.DocumentCache, &d.DocumentCache},
	} {
		if *f.value <= 0 {
			*f.value = *f.other
		}
	}
	if l.Time <= 0 {
		l.Time = d.Time
	}
	return l
}

// exceeded makes the refusal for a limit: it names the limit and its value.
func exceeded(what string, limit int) *gqlerror.Error {
	return refuse(fault.LimitExceeded, "%s is limited to %d", what, limit)
}

// checkText counts bytes and tokens. What does not lex is left to the parser.
func (l Limits) checkText(text string) *gqlerror.Error {
	if len(text) > l.Document {
		return exceeded("the length of a document in bytes", l.Document)
	}
	lex := lexer.New(&ast.Source{Input: text})
	for n := 0; ; n++ {
		t, err := lex.ReadToken()
		if err != nil || t.Kind == lexer.EOF {
			return nil
		}
		if n == l.Tokens {
			return exceeded("the number of tokens of a document", l.Tokens)
		}
	}
}

// shape counts a document that is parsed but not validated: fragments may be missing or go round in circles.
type shape struct {
	Limits
	fragments           map[string]*ast.FragmentDefinition
	depths              map[string]int // of fragments; -1 while one is being walked
	aliases, directives int
	err                 *gqlerror.Error
}

// checkShape holds the limits that need no schema. Every fragment is walked once, however often it is spread.
func (l Limits) checkShape(doc *ast.QueryDocument) *gqlerror.Error {
	if len(doc.Fragments) > l.Fragments {
		return exceeded("the number of fragments of a document", l.Fragments)
	}
	s := &shape{Limits: l, fragments: map[string]*ast.FragmentDefinition{}, depths: map[string]int{}}
	for _, f := range doc.Fragments {
		if s.fragments[f.Name] == nil {
			s.fragments[f.Name] = f
		}
		s.walkDirectives(f.Directives)
		s.walkSet(f.SelectionSet)
	}
	for _, op := range doc.Operations {
		s.walkDirectives(op.Directives)
		for _, v := range op.VariableDefinitions {
			s.walkType(v.Type)
			s.walkValue(v.DefaultValue, 1)
			s.walkDirectives(v.Directives)
		}
		if names := s.walkSet(op.SelectionSet); len(names) > l.RootFields {
			s.refuse(exceeded("the number of root fields of an operation", l.RootFields))
		}
		if s.depth(op.SelectionSet) > l.Depth {
			s.refuse(exceeded("the depth of an operation", l.Depth))
		}
	}
	return s.err
}

// refuse keeps the first refusal.
func (s *shape) refuse(err *gqlerror.Error) {
	if s.err == nil {
		s.err = err
	}
}

// walkSet counts a selection set and everything nested in it, spreads excepted, and answers how often each response name comes in it, fragments
// spread out.
func (s *shape) walkSet(set ast.SelectionSet) map[string]int {
	s.walkSelections(set)
	names := map[string]int{}
	s.names(set, names, map[string]bool{})
	for _, n := range names {
		if n > s.SameName {
			s.refuse(exceeded("the number of fields of one response name in a selection set", s.SameName))
		}
	}
	return names
}

// walkSelections counts the selections of a set, and walks the sets nested in them.
func (s *shape) walkSelections(set ast.SelectionSet) {
	for _, sel := range set {
		if s.err != nil {
			return
		}
		switch sel := sel.(type) {
		case *ast.Field:
			if sel.Alias != sel.Name {
				if s.aliases++; s.aliases > s.Aliases {
					s.refuse(exceeded("the number of aliases of a document", s.Aliases))
				}
			}
			for _, a := range sel.Arguments {
				s.walkValue(a.Value, 1)
			}
			s.walkDirectives(sel.Directives)
			if len(sel.SelectionSet) > 0 {
				s.walkSet(sel.SelectionSet)
			}
		case *ast.InlineFragment:
			s.walkDirectives(sel.Directives)
			s.walkSelections(sel.SelectionSet)
		case *ast.FragmentSpread:
			s.walkDirectives(sel.Directives)
		}
	}
}

// names counts the response names of a set; a fragment that is spread twice counts once, as it does when it is executed.
func (s *shape) names(set ast.SelectionSet, names map[string]int, seen map[string]bool) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			names[sel.Alias]++
		case *ast.InlineFragment:
			s.names(sel.SelectionSet, names, seen)
		case *ast.FragmentSpread:
			if f := s.fragments[sel.Name]; f != nil && !seen[sel.Name] {
				seen[sel.Name] = true
				s.names(f.SelectionSet, names, seen)
			}
		}
	}
}

// walkDirectives counts directives, and refuses those that answer in parts.
func (s *shape) walkDirectives(directives ast.DirectiveList) {
	for _, d := range directives {
		if s.directives++; s.directives > s.Directives {
			s.refuse(exceeded("the number of directives of a document", s.Directives))
		}
		if d.Name == "defer" || d.Name == "stream" {
			s.refuse(coded(fault.ValidationFailed, gqlerror.ErrorPosf(d.Position, `Unknown directive "@%s": answers come whole.`, d.Name)))
		}
		for _, a := range d.Arguments {
			s.walkValue(a.Value, 1)
		}
	}
}

// walkValue bounds the depth of a literal, and refuses numbers that the validator cannot hold.
func (s *shape) walkValue(v *ast.Value, depth int) {
	if v == nil || s.err != nil {
		return
	}
	switch v.Kind {
	case ast.ListValue, ast.ObjectValue:
	case ast.IntValue, ast.FloatValue:
		if !heldNumber(v) {
			s.refuse(coded(fault.ValidationFailed, gqlerror.ErrorPosf(v.Position, "the number %.40s is too large for a document: a JSON value may hold it as a variable", v.Raw)))
		}
		return
	default:
		return
	}
	if depth > s.ValueDepth {
		s.refuse(coded(fault.LimitExceeded, gqlerror.ErrorPosf(v.Position, "the depth of a value is limited to %d", s.ValueDepth)))
		return
	}
	for _, c := range v.Children {
		s.walkValue(c.Value, depth+1)
	}
}

// walkType bounds the depth of a variable's type.
func (s *shape) walkType(t *ast.Type) {
	for n := 0; t != nil && t.Elem != nil; t = t.Elem {
		if n++; n > s.ValueDepth {
			s.refuse(exceeded("the depth of a variable's type", s.ValueDepth))
			return
		}
	}
}

// depth answers how deep the fields of a set nest, introspection excepted. A fragment that goes round in a circle counts once; validation refuses it.
func (s *shape) depth(set ast.SelectionSet) int {
	deepest := 0
	for _, sel := range set {
		d := 0
		switch sel := sel.(type) {
		case *ast.Field:
			d = 1 + s.depth(sel.SelectionSet)
			if isIntrospection(sel.Name) {
				if d > introspectionDepth {
					s.refuse(exceeded("the depth of introspection", introspectionDepth))
				}
				d = 0
			}
		case *ast.InlineFragment:
			d = s.depth(sel.SelectionSet)
		case *ast.FragmentSpread:
			d = s.fragmentDepth(sel.Name)
		}
		deepest = max(deepest, d)
	}
	return deepest
}

// fragmentDepth is depth for a fragment, each counted once.
func (s *shape) fragmentDepth(name string) int {
	if d, ok := s.depths[name]; ok {
		return max(d, 0)
	}
	f := s.fragments[name]
	if f == nil {
		return 0
	}
	s.depths[name] = -1
	s.depths[name] = s.depth(f.SelectionSet)
	return s.depths[name]
}

// isIntrospection reports whether a root field answers about the schema.
func isIntrospection(name string) bool { return name == "__schema" || name == "__type" }

// heldNumber says whether the validator can hold a number in a document. One that it cannot makes it refuse the whole value, without a word
// about the number.
func heldNumber(v *ast.Value) bool {
	_, err := v.Value(nil)
	return err == nil
}

package graph

import (
	_ "embed"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// defaultPage is how many nodes a connection answers where neither first nor last is given.
const defaultPage = 50

// costs adds up what one operation of a validated document costs with its variables. Fragments are added up once each.
type costs struct {
	schema     *ast.Schema
	variables  map[string]any
	fragments  map[string]int
	introspect introspection
	// asked is the cost of introspection, which is bounded apart.
	asked int
	err   *gqlerror.Error
}

// checkCost refuses an operation that costs too much, and conditions that are null: the executor would panic over them.
func (h *Handler) checkCost(doc *ast.QueryDocument, op *ast.OperationDefinition, variables map[string]any) *gqlerror.Error {
	c := &costs{
		schema: h.schema.Schema(), variables: variables, fragments: map[string]int{},
		introspect: introspection{types: len(h.schema.Schema().Types), fragments: doc.Fragments, memo: map[string]int{}},
	}
	c.conditions(op.Directives)
	cost := c.set(op.SelectionSet)
	switch {
	case c.err != nil:
		return c.err
	case cost > h.limits.Complexity:
		return refuse(fault.LimitExceeded, "the complexity of an operation is limited to %d; this one has %d", h.limits.Complexity, cost)
	case c.asked > introspectionFactor*h.introspected:
		return refuse(fault.LimitExceeded, "introspection is limited to %d times the standard introspection query", introspectionFactor)
	}
	return nil
}

// set is the cost of a selection set.
func (c *costs) set(set ast.SelectionSet) int {
	sum := 0
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			c.conditions(sel.Directives)
			sum = add(sum, c.field(sel))
		case *ast.InlineFragment:
			c.conditions(sel.Directives)
			sum = add(sum, c.set(sel.SelectionSet))
		case *ast.FragmentSpread:
			c.conditions(sel.Directives)
			sum = add(sum, c.fragment(sel))
		}
	}
	return sum
}

// fragment is the cost of a fragment. Validation has refused circles.
func (c *costs) fragment(spread *ast.FragmentSpread) int {
	if n, ok := c.fragments[spread.Name]; ok || spread.Definition == nil {
		return n
	}
	n := c.set(spread.Definition.SelectionSet)
	c.fragments[spread.Name] = n
	return n
}

// field is 1 and the cost of its children, as often as they are answered.
func (c *costs) field(f *ast.Field) int {
	if isIntrospection(f.Name) {
		c.asked = add(c.asked, c.introspect.field(f))
		return 0
	}
	children := c.set(f.SelectionSet)
	if f.Definition == nil {
		return add(1, children)
	}
	times := 1
	if strings.HasSuffix(f.Definition.Type.Name(), "Connection") {
		times = defaultPage
		for _, name := range []string{"first", "last"} {
			if n, ok := c.number(f.Arguments.ForName(name)); ok && n > 0 {
				times = n
			}
		}
	} else if ids := f.Arguments.ForName("ids"); ids != nil {
		times = max(c.length(ids.Value), 1)
	}
	return add(1, multiply(times, children))
}

// number is the value of an argument that is a number.
func (c *costs) number(a *ast.Argument) (int, bool) {
	if a == nil {
		return 0, false
	}
	v := a.Value
	if v.Kind == ast.Variable {
		if value, ok := c.variables[v.Raw]; ok {
			return toInt(value)
		}
		if v.VariableDefinition == nil || v.VariableDefinition.DefaultValue == nil {
			return 0, false
		}
		v = v.VariableDefinition.DefaultValue
	}
	return toInt(json.Number(v.Raw))
}

// toInt reads a variable's value, which comes in several forms.
func toInt(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case int32:
		return int(v), true
	case int64:
		return int(v), true
	case float64:
		return int(v), true
	case json.Number:
		n, err := strconv.Atoi(string(v))
		return n, err == nil
	}
	return 0, false
}

// length is how many elements a list has.
func (c *costs) length(v *ast.Value) int {
	if v.Kind != ast.Variable {
		return len(v.Children)
	}
	list, _ := c.variables[v.Raw].([]any)
	return len(list)
}

// conditions refuses @skip and @include whose condition is a variable that is null.
func (c *costs) conditions(directives ast.DirectiveList) {
	for _, d := range directives {
		arg := d.Arguments.ForName("if")
		if d.Name != "skip" && d.Name != "include" || arg == nil || c.err != nil {
			continue
		}
		if v, err := arg.Value.Value(c.variables); err != nil || v == nil {
			c.err = coded(fault.ValidationFailed, gqlerror.ErrorPosf(d.Position, "the condition of @%s is null", d.Name))
		}
	}
}

// add and multiply stop at the largest number instead of going round.
func add(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

func multiply(a, b int) int {
	if a != 0 && b > math.MaxInt/a {
		return math.MaxInt
	}
	return a * b
}

//go:embed introspection.graphql
var introspectionText string

// standardIntrospection answers the query that tools send to read a schema.
func standardIntrospection() *ast.QueryDocument {
	doc, err := parser.ParseQuery(&ast.Source{Input: introspectionText})
	if err != nil {
		panic("graph: introspection.graphql does not parse: " + err.Error())
	}
	return doc
}

// introspection estimates how much a selection on the schema answers: a list counts as often as it usually has elements.
type introspection struct {
	types     int
	fragments ast.FragmentDefinitionList
	memo      map[string]int
}

// listSizes are the usual lengths of the schema's lists.
var listSizes = map[string]int{
	"fields": 12, "inputFields": 8, "enumValues": 8, "args": 3, "interfaces": 2, "possibleTypes": 8, "directives": 6,
}

// introspectionCost is what the first operation of a document costs by that measure.
func introspectionCost(schema *ast.Schema, doc *ast.QueryDocument) int {
	i := introspection{types: len(schema.Types), fragments: doc.Fragments, memo: map[string]int{}}
	return i.set(doc.Operations[0].SelectionSet)
}

func (i introspection) set(set ast.SelectionSet) int {
	sum := 0
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			sum = add(sum, i.field(sel))
		case *ast.InlineFragment:
			sum = add(sum, i.set(sel.SelectionSet))
		case *ast.FragmentSpread:
			sum = add(sum, i.fragment(sel.Name))
		}
	}
	return sum
}

func (i introspection) field(f *ast.Field) int {
	times := 1
	if n, ok := listSizes[f.Name]; ok {
		times = n
	} else if f.Name == "types" {
		times = i.types
	}
	return add(1, multiply(times, i.set(f.SelectionSet)))
}

func (i introspection) fragment(name string) int {
	if n, ok := i.memo[name]; ok {
		return n
	}
	f := i.fragments.ForName(name)
	if f == nil {
		return 0
	}
	i.memo[name] = 0 // a circle ends here; validation refuses it
	n := i.set(f.SelectionSet)
	i.memo[name] = n
	return n
}

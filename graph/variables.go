package graph

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/graph/input"
)

// readVariables reads an operation's variables, for every transport. The document it answers is the one to execute.
func (h *Handler) readVariables(doc *ast.QueryDocument, op *ast.OperationDefinition, raw []byte) (*ast.QueryDocument, map[string]any, gqlerror.List) {
	p, err := input.Prepare(h.schema.Schema(), doc, op, raw)
	if err != nil {
		return nil, nil, gqlerror.List{err}
	}
	return p.Document, p.Variables, nil
}

package input

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// refuse makes an error that names the path at fault, in its message and as its path.
func refuse(code fault.ProblemCode, path ast.Path, format string, args ...any) *gqlerror.Error {
	message := fmt.Sprintf(format, args...)
	if len(path) > 0 {
		message = dotted(path) + ": " + message
	}
	err := gqlerror.Wrap(fault.NewProblem(code, "%s", message))
	err.Path = append(ast.Path(nil), path...)
	return err
}

func dotted(path ast.Path) string {
	parts := make([]string, len(path))
	for i, part := range path {
		switch part := part.(type) {
		case ast.PathName:
			parts[i] = string(part)
		case ast.PathIndex:
			parts[i] = strconv.Itoa(int(part))
		}
	}
	return strings.Join(parts, ".")
}

// maxShownPath bounds how much of a path into broken JSON an error repeats, in bytes: what came may nest 10,000 levels deep.
const maxShownPath = 400

// broken says where a text stops being JSON. base is where the text begins, as a path.
func broken(base ast.Path, err error) *gqlerror.Error {
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return refuse(fault.BadRequest, base, "not valid JSON")
	}
	path := append(ast.Path(nil), base...)
	size := 0
	for part := range syntax.JSONPointer.Tokens() {
		part = strings.ToValidUTF8(part, "\uFFFD")
		if size += len(part) + 1; size > maxShownPath {
			break // the offset says the rest
		}
		path = append(path, ast.PathName(part))
	}
	return refuse(fault.BadRequest, path, "not valid JSON: %s at byte %d", reason(syntax.Err), syntax.ByteOffset)
}

// reason says in words what is wrong with a text.
func reason(err error) string {
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	switch {
	case errors.Is(err, errEndsEarly):
		return "the text ends too early"
	case strings.Contains(text, "surrogate"):
		return "a surrogate without its pair"
	default:
		return text
	}
}

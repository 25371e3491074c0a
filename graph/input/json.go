package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// MaxDepth is how many arrays and objects may be open at once in a JSON value.
const MaxDepth = 200

var errEndsEarly = io.ErrUnexpectedEOF

// Check reports whether data is exactly one JSON value in UTF-8 whose strings hold no surrogate without its pair. The
// error is BAD_REQUEST and tells the path, with dots, and the offset in bytes. Repeated members pass, and so does any depth up to
// the decoder's 10,000.
func Check(data []byte) *gqlerror.Error { return check(nil, data) }

func check(base ast.Path, data []byte) *gqlerror.Error {
	decoder := newDecoder(data)
	if err := decoder.SkipValue(); err != nil {
		if errors.Is(err, io.EOF) && !errors.Is(err, errEndsEarly) {
			return refuse(fault.BadRequest, base, "not valid JSON: it is empty")
		}
		return broken(base, err)
	}
	return atEnd(base, decoder)
}

// newDecoder reads JSON strictly, but lets members repeat: at JSON positions they stay as sent.
func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
}

func atEnd(base ast.Path, decoder *jsontext.Decoder) *gqlerror.Error {
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return refuse(fault.BadRequest, base, "not valid JSON: something follows the value, at byte %d", decoder.InputOffset())
	}
	return nil
}

// depth counts how many arrays and objects of a valid JSON value are open at once, at most.
func depth(value json.RawMessage) int {
	open, most, inString := 0, 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			open++
			most = max(most, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return most
}

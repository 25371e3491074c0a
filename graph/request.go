package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/graph/input"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/upload"
)

// request is one GraphQL request, however it came.
type request struct {
	query         string
	operationName string
	// variables are the very bytes that came, or nil: a JSON object.
	variables  json.RawMessage
	extensions map[string]any
	headers    http.Header
	// uploads are the files of a multipart request by the names that stand for them in variables; close gives them up. They are nil of others.
	uploads map[string]*upload.Upload
	close   func()
	// files are the paths of the variables that stand for them, as the part map has them.
	files []string
}

// errTooLarge says that a body or message is longer than it may be.
var errTooLarge = errors.New("too large")

// readLimited reads at most limit bytes, and answers errTooLarge where there are more.
func readLimited(r io.Reader, limit int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && len(b) > limit {
		return nil, errTooLarge
	}
	return b, err
}

// parseContentType reports whether a body is JSON in UTF-8.
func isJSON(contentType string) bool {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != mediaJSON {
		return false
	}
	charset, ok := params["charset"]
	return !ok || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
}

// parseQueryString reads a request from a URL. extensions and variables are JSON text.
func parseQueryString(q url.Values) (*request, *gqlerror.Error) {
	req := &request{query: q.Get("query"), operationName: q.Get("operationName")}
	if err := req.setObject("variables", []byte(q.Get("variables"))); err != nil {
		return nil, err
	}
	if err := req.setObject("extensions", []byte(q.Get("extensions"))); err != nil {
		return nil, err
	}
	return req, req.complete()
}

// parseRequest reads a request from JSON: a POST's body, or the payload of a subscribe message.
func parseRequest(b []byte) (*request, *gqlerror.Error) {
	if err := input.Check(b); err != nil {
		return nil, err
	}
	req := &request{}
	members, err := members(b)
	if err != nil {
		return nil, err
	}
	for name, value := range members {
		var err *gqlerror.Error
		switch name {
		case "query":
			err = setString(&req.query, name, value)
		case "operationName":
			err = setString(&req.operationName, name, value)
		case "variables", "extensions":
			err = req.setObject(name, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return req, req.complete()
}

// complete checks what no request can do without.
func (r *request) complete() *gqlerror.Error {
	if strings.TrimSpace(r.query) == "" {
		return at(refuse(fault.BadRequest, "query is missing"), "query")
	}
	return nil
}

// setString reads a member that is a string, or null.
func setString(to *string, name string, value []byte) *gqlerror.Error {
	if json.Unmarshal(value, to) != nil {
		return at(refuse(fault.BadRequest, "%s must be a string", name), name)
	}
	return nil
}

// setObject reads a member that is an object, or null, or left out.
func (r *request) setObject(name string, value []byte) *gqlerror.Error {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	if value[0] != '{' || !json.Valid(value) {
		return at(refuse(fault.BadRequest, "%s must be a JSON object", name), name)
	}
	if err := input.Check(value); err != nil {
		return err
	}
	if name == "variables" {
		r.variables = value
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if err := d.Decode(&r.extensions); err != nil {
		return at(refuse(fault.BadRequest, "%s must be a JSON object", name), name)
	}
	return nil
}

// members splits a JSON object into its members, keeping their bytes. A name that comes twice is refused: which of the two is meant
// cannot be told.
func members(b []byte) (map[string]json.RawMessage, *gqlerror.Error) {
	if !json.Valid(b) {
		return nil, refuse(fault.BadRequest, "the request is no valid JSON")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, refuse(fault.BadRequest, "the request must be a JSON object")
	}
	out := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, refuse(fault.BadRequest, "the request is no valid JSON")
		}
		if _, twice := out[name]; twice {
			return nil, at(refuse(fault.BadRequest, "%s comes twice in the request", name), name)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, refuse(fault.BadRequest, "the request is no valid JSON")
		}
		out[name] = value
	}
	return out, nil
}

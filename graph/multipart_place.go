package graph

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/graph/scalar"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/upload"
)

// readPlaces reads the part map: of each file's part, the paths of the variables that stand for it. No path comes twice.
func readPlaces(b []byte) (map[string][]string, *gqlerror.Error) {
	raw, err := members(b)
	if err != nil {
		return nil, err
	}
	if len(raw) == 0 || len(raw) > MaxUploads {
		return nil, refuse(fault.BadRequest, "map must name from 1 to %d files", MaxUploads)
	}
	places, seen := make(map[string][]string, len(raw)), map[string]bool{}
	for name, value := range raw {
		var paths []string
		if json.Unmarshal(value, &paths) != nil || len(paths) == 0 {
			return nil, refuse(fault.BadRequest, "map: %q must be a list of paths, such as [\"variables.file\"]", name)
		}
		for _, p := range paths {
			if rest, ok := strings.CutPrefix(p, "variables."); !ok || rest == "" || seen[p] {
				return nil, refuse(fault.BadRequest, "map: %q is no path of a variable, or comes twice", p)
			}
			seen[p] = true
		}
		places[name] = paths
	}
	return places, nil
}

// place puts a name that nobody can guess where variables stand for files, which must be null there, and keeps the files under these names.
func (m *multipartRequest) place() *gqlerror.Error {
	named, pointers := map[string]*upload.Upload{}, map[jsontext.Pointer]string{}
	for part, paths := range m.places {
		u := m.uploads[part]
		if u == nil {
			return refuse(fault.BadRequest, "map names the part %q, which did not come", part)
		}
		name := scalar.UploadPrefix + rand.Text()
		named[name] = u
		for _, p := range paths {
			pointers[pointer(p)] = name
		}
	}
	m.uploads = named
	for _, paths := range m.places {
		m.req.files = append(m.req.files, paths...)
	}
	slices.Sort(m.req.files)
	var err *gqlerror.Error
	m.req.variables, err = replaceNulls(m.req.variables, pointers)
	return err
}

// pointer makes a JSON Pointer into the variables of a path such as variables.input.files.0.
func pointer(path string) jsontext.Pointer {
	var p jsontext.Pointer
	for _, step := range strings.Split(path, ".")[1:] {
		p = p.AppendToken(step)
	}
	return p
}

// replaceNulls puts strings in the place of nulls, and leaves every other byte as it is.
func replaceNulls(raw json.RawMessage, with map[jsontext.Pointer]string) (json.RawMessage, *gqlerror.Error) {
	var out []byte
	d, end := jsontext.NewDecoder(strings.NewReader(string(raw))), int64(0)
	for {
		t, err := d.ReadToken()
		if err != nil {
			break // its end: it was checked
		}
		name, wanted := with[d.StackPointer()]
		if t.Kind() != 'n' || !wanted {
			continue
		}
		at := d.InputOffset()
		out = strconv.AppendQuote(append(out, raw[end:at-int64(len("null"))]...), name)
		end = at
		delete(with, d.StackPointer())
	}
	for p := range with {
		return nil, refuse(fault.BadRequest, "map: there is no null at variables%s", strings.ReplaceAll(string(p), "/", "."))
	}
	return slices.Concat(out, raw[end:]), nil
}

// checkFiles refuses a file where the operation's variables have another type than Upload: the name that stands for it is for the server alone, and no text of the
// client's. paths are those of the request's files.
func checkFiles(schema *ast.Schema, op *ast.OperationDefinition, paths []string) *gqlerror.Error {
	for _, path := range paths {
		kind := typeAt(schema, op, strings.Split(path, ".")[1:])
		if kind == nil {
			return refuse(fault.BadRequest, "map: %q is no place for a file: the operation has no such variable, or nothing there", path)
		}
		for kind.Elem != nil { // a single value stands for a list of it
			kind = kind.Elem
		}
		if kind.NamedType != "Upload" {
			return refuse(fault.BadRequest, "map: %q is no place for a file: it is of the type %s, not Upload", path, kind.NamedType)
		}
	}
	return nil
}

// typeAt answers the type that an operation's variables have at a path, nil where there is none.
func typeAt(schema *ast.Schema, op *ast.OperationDefinition, steps []string) *ast.Type {
	variable := op.VariableDefinitions.ForName(steps[0])
	if variable == nil {
		return nil
	}
	kind := variable.Type
	for _, step := range steps[1:] {
		if _, err := strconv.Atoi(step); err == nil && kind.Elem != nil { // no field's name is a number
			kind = kind.Elem
			continue
		}
		for kind.Elem != nil {
			kind = kind.Elem
		}
		if schema.Types[kind.NamedType].Kind != ast.InputObject {
			return kind // such as JSON, which has members without types
		}
		field := schema.Types[kind.NamedType].Fields.ForName(step)
		if field == nil {
			return nil
		}
		kind = field.Type
	}
	return kind
}

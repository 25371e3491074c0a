package schema

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
)

// goField is the code generator's directive, which clients do not see.
const goField = "goField"

//go:embed *.graphql
var files embed.FS

// Source returns the files of the schema, by name.
func Source() ([]*ast.Source, error) {
	names, err := fs.Glob(files, "*.graphql")
	if err != nil {
		return nil, fmt.Errorf("list schema files: %w", err)
	}
	sources := make([]*ast.Source, 0, len(names))
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read schema file %s: %w", name, err)
		}
		sources = append(sources, &ast.Source{Name: name, Input: string(text)})
	}
	return sources, nil
}

// Load parses and validates the schema as clients see it: without the code generator's directive.
func Load() (*ast.Schema, error) {
	sources, err := Source()
	if err != nil {
		return nil, err
	}
	loaded, err := gqlparser.LoadSchema(sources...)
	if err != nil {
		return nil, fmt.Errorf("load schema: %w", err)
	}
	delete(loaded.Directives, goField)
	for _, definition := range loaded.Types {
		for _, field := range definition.Fields {
			field.Directives = withoutGoField(field.Directives)
		}
	}
	return loaded, nil
}

// Print returns the schema as one SDL document, types in the order of their names, for clients and their tools.
func Print() (string, error) {
	loaded, err := Load()
	if err != nil {
		return "", err
	}
	var text strings.Builder
	formatter.NewFormatter(&text, formatter.WithIndent("  ")).FormatSchema(loaded)
	return text.String(), nil
}

func withoutGoField(directives ast.DirectiveList) ast.DirectiveList {
	var kept ast.DirectiveList
	for _, directive := range directives {
		if directive.Name != goField {
			kept = append(kept, directive)
		}
	}
	return kept
}

package script

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"unicode"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/jsonschema"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Bounds of a script.
const (
	// MaxDescription is the longest description, in characters (S1-desc).
	MaxDescription = 400
	// MaxSource is the longest source, in bytes.
	MaxSource = 1_000_000
	// MaxSources is how many bytes of sources are read for a query's versions at a time; more is a LIMIT_EXCEEDED Problem.
	MaxSources = 64 << 20
)

// nameShape is the rule S1-name. In Go, $ without the flag m is the end of the text: a newline at the end does not pass.
var nameShape = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// ValidName says whether a script can have the name (S1-name).
func ValidName(name string) bool { return nameShape.MatchString(name) }

// checkName holds the rules about a name that need nothing but the name: S1-name, and the part of S1-reserved that always holds.
func checkName(path, name string) error {
	switch prefix := agent.ReservedPrefix(name); {
	case !ValidName(name):
		return fault.Plain(fault.Invalid, path, "%s must be a lower-case letter and then at most 62 lower-case letters, digits, _ and -", path)
	case name == "manifest":
		return fault.Plain(fault.Reserved, path, "%s: manifest is kept for the system", path)
	case prefix != "":
		return fault.Plain(fault.Reserved, path, "%s: names that begin with %s are kept for the system", path, prefix)
	}
	return nil
}

// checkNewName holds the part of S1-reserved that concerns new scripts: a tool that the model sees beside them has the name.
func checkNewName(path string, a *agent.Agent, name string) error {
	by := ""
	switch {
	case agent.IsNativeTool(name):
		by = "the tool " + name
	case a.Connects(name):
		by = "a connected tool"
	default:
		return nil
	}
	detail := fault.NewDetail(fault.Taken, path, "%s: %s is the name of %s", path, name, by)
	return &fault.NameTaken{Detail: detail, TakenBy: by}
}

// checkSource holds the rules about a source: S1-src.
func checkSource(path, source string) error {
	if len(source) > MaxSource {
		return fault.Plain(fault.TooLarge, path, "%s is larger than %d bytes", path, MaxSource)
	}
	if err := text.Storable(path, source); err != nil {
		return err
	}
	if strings.TrimFunc(source, unicode.IsSpace) == "" {
		return fault.Plain(fault.Invalid, path, "%s holds nothing but white space", path)
	}
	return nil
}

// checkParameters holds the rules about a schema: S1-params. nil is none.
func checkParameters(path string, parameters json.RawMessage) error {
	if parameters == nil {
		return nil
	}
	err := jsonschema.Check(parameters)
	var invalid *jsonschema.Invalid
	if errors.As(err, &invalid) {
		detail := fault.NewDetail(fault.BadSchema, path, "%s%s: %s", path, invalid.Pointer, invalid.Reason)
		return &fault.SchemaInvalid{Detail: detail, Pointer: invalid.Pointer, Keyword: invalid.Keyword}
	}
	return err
}

// checkExpected holds the rule about a number that can be expected.
func checkExpected(number *int) error {
	if number != nil && *number < 0 {
		return fault.Plain(fault.Invalid, "input.expectedVersion", "input.expectedVersion must not be negative")
	}
	return nil
}

// check holds all rules that need nothing but the content, and tells all faults at once. at is where in the input it stands.
func (c Content) check(at place) error {
	return errors.Join(checkName(at.of("name"), c.Name), text.Filled(at.of("description"), c.Description, MaxDescription),
		checkSource(at.of("source"), c.Source), checkParameters(at.of("parameters"), c.Parameters))
}

// place says where in an input a script's content stands.
type place struct {
	path string
	// whole: the input has no fields for the parts of the content, so that faults of all of them are the place's own.
	whole bool
}

// of is the path of one part of the content.
func (p place) of(field string) string {
	if p.whole {
		return p.path
	}
	return p.path + "." + field
}

// inInput is the place of content that is the input itself.
var inInput = place{path: "input"}

// checkShape holds all rules that need nothing but the input, and tells all faults at once.
func (in SaveInput) checkShape() error {
	return errors.Join(in.content().check(inInput), checkExpected(in.ExpectedVersion), idempotency.Check(in.IdempotencyKey))
}

func (in SaveInput) content() Content {
	return Content{Name: in.Name, Description: in.Description, Source: in.Source, Parameters: in.Parameters, FreshInterpreter: in.FreshInterpreter}
}

// absent makes the literal null the same as nothing.
func absent(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || strings.TrimSpace(string(raw)) == "null" {
		return nil
	}
	return raw
}

// hash is the rule S1-src: lower-case hex SHA-256 of the source.
func hash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:])
}

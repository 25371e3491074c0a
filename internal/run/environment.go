package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Bounds of a run's environment.
const (
	MaxVariables        = 64
	MaxEnvironmentBytes = 64 << 10 // names and values together
	maxShownName        = 64
)

// parseEnvironment reads input.environment: an object of strings. Null and nothing are no variables.
func parseEnvironment(raw json.RawMessage) (map[string]string, error) {
	vars := map[string]string{}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || string(trimmed) == "null" {
		return vars, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') || !json.Valid(raw) {
		return nil, fault.Plain(fault.Invalid, "input.environment", "input.environment must be an object of strings")
	}
	var faults []error
	size := 0
	for d.More() {
		name, value, err := nextVariable(d)
		if err == nil {
			err = checkVariable(vars, name, value)
		}
		if err != nil {
			if faults = append(faults, err); len(faults) == 10 || !isRefusal(err) {
				break
			}
			continue
		}
		vars[name] = value
		size += len(name) + len(value)
	}
	switch {
	case len(faults) > 0:
		return nil, errors.Join(faults...)
	case len(vars) > MaxVariables:
		return nil, fault.Plain(fault.TooLarge, "input.environment", "input.environment has %d entries; %d are allowed", len(vars), MaxVariables)
	case size > MaxEnvironmentBytes:
		return nil, fault.Plain(fault.TooLarge, "input.environment", "input.environment has %d bytes of names and values; %d are allowed", size, MaxEnvironmentBytes)
	}
	return vars, nil
}

// nextVariable reads a member. What is no string is refused.
func nextVariable(d *json.Decoder) (name, value string, err error) {
	broken := fault.Plain(fault.Invalid, "input.environment", "input.environment is not valid JSON")
	t, err := d.Token()
	name, ok := t.(string)
	if err != nil || !ok {
		return "", "", broken
	}
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return "", "", broken
	}
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &value) != nil {
		return "", "", variable(name, "must be a string")
	}
	return name, value, nil
}

func checkVariable(vars map[string]string, name, value string) error {
	_, twice := vars[name]
	switch {
	case !text.ValidVariable(name):
		return variable(name, "is not a name: it must match ^[A-Z_][A-Z0-9_]*$ and have at most 255 characters")
	case text.ReservedVariable(name):
		return variable(name, "is reserved: every call gets it from the server, or it would change what its interpreter loads")
	case twice:
		return variable(name, "is there twice")
	case strings.ContainsRune(value, 0):
		return variable(name, "holds U+0000, which an environment cannot")
	case !utf8.ValidString(value):
		return variable(name, "is not valid UTF-8")
	}
	return nil
}

// variable makes the refusal of one variable. Its name may hold anything, dots too, and may be long.
func variable(name, message string) error {
	if len(name) > maxShownName {
		name = strings.ToValidUTF8(name[:maxShownName], "") + "…"
	}
	d := fault.NewDetail(fault.Invalid, "input.environment", "input.environment.%s %s", name, message)
	d.Path = append(d.Path, name)
	return &fault.PlainUserError{Detail: d}
}

func isRefusal(err error) bool {
	d, ok := errors.AsType[*fault.PlainUserError](err)
	return ok && len(d.Path) > 2
}

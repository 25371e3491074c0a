package tool

import (
	"encoding/json"
	"testing"
)

func TestComplete(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"type":"object"}`: `{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"a":{"type":"array"},"b":true,"c":{"type":["array","null"],"maxItems":1e2}}}`: `{"type":"object","properties":{"a":{"type":"array","items":{}},"b":true,"c":{"type":["array","null"],"maxItems":1e2,"items":{}}}}`,
		`{"properties":{"a":{"type":"array","prefixItems":[{"type":"array"}]}},"type":"object"}`:                      `{"properties":{"a":{"type":"array","prefixItems":[{"type":"array","items":{}}]}},"type":"object"}`,
		`{"type":"object","properties":{},"$defs":{"x":{"anyOf":[{"type":"array"},{"const":{"type":"array"}}]}}}`:     `{"type":"object","properties":{},"$defs":{"x":{"anyOf":[{"type":"array","items":{}},{"const":{"type":"array"}}]}}}`,
		`{"type":"object","properties":{"properties":{"items":{"type":"array"},"type":"array"}}}`:                     `{"type":"object","properties":{"properties":{"items":{"type":"array","items":{}},"type":"array"}}}`,
		`{"type":"object","default":{"a":[1,2.0,9007199254740993]},"properties":{"\u00e9<":{"enum":["array"]}}}`:      `{"type":"object","default":{"a":[1,2.0,9007199254740993]},"properties":{"é<":{"enum":["array"]}}}`,
		`true`: `true`,
	} {
		if got := string(complete(json.RawMessage(in))); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", in, got, want)
		}
	}
}

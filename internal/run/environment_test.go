package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"V%d":""`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	full := func(n int) string { return `{"A":"` + strings.Repeat("x", n) + `"}` }
	cases := []struct {
		raw   string
		codes []fault.ErrorCode
		path  string
	}{
		{``, nil, ""},
		{`null`, nil, ""},
		{`{}`, nil, ""},
		{`{"A":"","_B9":"é\n"}`, nil, ""},
		{many(64), nil, ""},
		{full(64<<10 - 1), nil, ""},
		{many(65), []fault.ErrorCode{fault.TooLarge}, "input environment"},
		{full(64 << 10), []fault.ErrorCode{fault.TooLarge}, "input environment"},
		{`[]`, []fault.ErrorCode{fault.Invalid}, "input environment"},
		{`"A=b"`, []fault.ErrorCode{fault.Invalid}, "input environment"},
		{`{"A":1}`, []fault.ErrorCode{fault.Invalid}, "input environment A"},
		{`{"A":null}`, []fault.ErrorCode{fault.Invalid}, "input environment A"},
		{`{"A":"a\u0000"}`, []fault.ErrorCode{fault.Invalid}, "input environment A"},
		{`{"A":"1","A":"2"}`, []fault.ErrorCode{fault.Invalid}, "input environment A"},
		{`{"a.b":"1"}`, []fault.ErrorCode{fault.Invalid}, "input environment a.b"},
		{`{"A\n":"1"}`, []fault.ErrorCode{fault.Invalid}, "input environment A\n"},
		{`{"":"1"}`, []fault.ErrorCode{fault.Invalid}, "input environment "},
		{`{"PATH":"1","LD_PRELOAD":"2","PYTHONPATH":"3"}`, []fault.ErrorCode{fault.Invalid, fault.Invalid, fault.Invalid}, "input environment PATH"},
		{`{"A":"1"`, []fault.ErrorCode{fault.Invalid}, "input environment"},
		{`{"A":`, []fault.ErrorCode{fault.Invalid}, "input environment"},
	}
	for _, c := range cases {
		_, err := parseEnvironment(json.RawMessage(c.raw))
		users, rest := fault.Refusals(err)
		if rest != nil || len(users) != len(c.codes) {
			t.Errorf("%.60s: %v", c.raw, err)
			continue
		}
		for i, u := range users {
			d := u.(*fault.PlainUserError)
			if d.Code != c.codes[i] {
				t.Errorf("%.60s: code %s", c.raw, d.Code)
			}
			if i == 0 && strings.Join(d.Path, " ") != c.path {
				t.Errorf("%.60s: path %q", c.raw, d.Path)
			}
		}
	}
}

func TestEnvironmentReserved(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"PATH", "HOME", "LANG", "TZ", "PYTHONPATH", "PYTHON", "NODE_PATH", "LD_X", "ARTIFIC_OUTPUTS", "GUILDS_SCRIPT_ARGS", "SCRIPTORIUM_RUN_ID"} {
		if _, err := parseEnvironment(json.RawMessage(`{"` + name + `":"x"}`)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	for _, name := range []string{"PATHS", "HOMES", "LANGUAGE", "NODE", "LD", "MY_PATH"} {
		if _, err := parseEnvironment(json.RawMessage(`{"` + name + `":"x"}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzEnvironment(f *testing.F) {
	f.Add(`{"A":"b"}`)
	f.Add(`{"PATH":1,"a":[{}]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		vars, err := parseEnvironment(json.RawMessage(raw))
		if err != nil {
			if _, rest := fault.Refusals(err); rest != nil {
				t.Fatalf("not a refusal: %v", rest)
			}
			return
		}
		for name, value := range vars {
			if !text.ValidVariable(name) || strings.ContainsRune(value, 0) {
				t.Fatalf("accepted %q=%q", name, value)
			}
		}
	})
}

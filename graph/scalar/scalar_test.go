package scalar_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"go.uber.org/goleak"

	"github.com/scriptorium-dev/scriptorium/graph/scalar"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func written(m graphql.Marshaler) string {
	var out bytes.Buffer
	m.MarshalGQL(&out)
	return out.String()
}

func TestMarshal(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 2*60*60)
	cases := []struct{ name, got, want string }{
		{"time in UTC, cut", written(scalar.MarshalTime(time.Date(2026, 1, 31, 11, 30, 0, 123_999_999, east))), `"2026-01-31T09:30:00.123Z"`},
		{"time keeps three zeros", written(scalar.MarshalTime(time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC))), `"2026-01-31T09:30:00.000Z"`},
		{"bytes", written(scalar.MarshalBytes([]byte{0, 0xff})), `"AP8="`},
		{"no bytes", written(scalar.MarshalBytes(nil)), `""`},
		{"big int", written(scalar.MarshalBigInt(math.MaxInt64)), `"9223372036854775807"`},
		{"id", written(scalar.MarshalID(`a"b`)), `"a\"b"`},
		{"cursor", written(scalar.MarshalCursor("abc")), `"abc"`},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

func TestJSONKeepsWhatCame(t *testing.T) {
	t.Parallel()
	in := json.RawMessage("{\"b\": 1.0,\n \"a\":9007199254740993, \"a\":1e400, \"s\": \"< \\u0000 \\/\"}")
	kept, err := scalar.UnmarshalJSON(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := scalar.MarshalJSON(kept).MarshalGQLContext(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	if want := `{"b":1.0,"a":9007199254740993,"a":1e400,"s":"< \u0000 \/"}`; out.String() != want {
		t.Errorf("written %s, want %s", out.String(), want)
	}
	out.Reset()
	if err := scalar.MarshalJSON(json.RawMessage(`{"a":`)).MarshalGQLContext(context.Background(), &out); err == nil || out.Len() > 0 {
		t.Errorf("a broken value was written: %s, %v", out.String(), err)
	}
	for _, v := range []any{map[string]any{}, "x", json.Number("1"), nil} {
		if got, err := scalar.UnmarshalJSON(t.Context(), v); err == nil {
			t.Errorf("UnmarshalJSON(%T) = %s, want an error", v, got)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		v    any
		ok   bool
	}{
		{"Time", "2026-01-31T09:30:00Z", true}, {"Time", "2026-01-31T11:30:00.123456+02:00", true},
		{"Time", "2026-01-31", false}, {"Time", "2026-02-30T09:30:00Z", false}, {"Time", json.Number("1"), false},
		{"Cursor", "x", true}, {"Cursor", json.Number("1"), false},
		{"Bytes", "AP8=", true}, {"Bytes", "", true}, {"Bytes", "AP8", false}, {"Bytes", "AP\n8=", false}, {"Bytes", "AP9=", false}, {"Bytes", int64(1), false},
		{"BigInt", "-9223372036854775808", true}, {"BigInt", json.Number("12"), true}, {"BigInt", int64(3), true},
		{"BigInt", "9223372036854775808", false}, {"BigInt", "+1", false}, {"BigInt", "01", false}, {"BigInt", json.Number("1.0"), false}, {"BigInt", true, false},
		{"Other", []any{}, true},
	}
	for _, c := range cases {
		if err := scalar.Check(c.name, c.v); (err == nil) != c.ok {
			t.Errorf("Check(%s, %#v) = %v", c.name, c.v, err)
		}
	}
}

func TestUnmarshalValues(t *testing.T) {
	t.Parallel()
	at, err := scalar.UnmarshalTime("2026-01-31T11:30:00.123456+02:00")
	if want := time.Date(2026, 1, 31, 9, 30, 0, 123_000_000, time.UTC); err != nil || at != want {
		t.Errorf("time %v, %v, want %v", at, err, want)
	}
	if data, err := scalar.UnmarshalBytes("AP8="); err != nil || !bytes.Equal(data, []byte{0, 0xff}) {
		t.Errorf("bytes %v, %v", data, err)
	}
	if n, err := scalar.UnmarshalBigInt("-5"); err != nil || n != -5 {
		t.Errorf("big int %v, %v", n, err)
	}
	for v, want := range map[any]string{"agt_1": "agt_1", int64(7): "7"} {
		if id, err := scalar.UnmarshalID(v); err != nil || id != want {
			t.Errorf("id %v, %v", id, err)
		}
	}
	for _, v := range []any{true, nil, 1.5, json.Number("1")} {
		if id, err := scalar.UnmarshalID(v); err == nil {
			t.Errorf("UnmarshalID(%#v) = %s, want an error", v, id)
		}
	}
}

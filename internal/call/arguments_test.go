package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/jsonschema"
)

// TestSchemasKept: compiled schemas are kept up to a weight, whoever asks for them at once.
func TestSchemasKept(t *testing.T) {
	t.Parallel()
	var s schemas
	var properties []string
	for i := range 1500 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"maxLength":%d}`, i, i))
	}
	raw := json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`)
	one, err := s.of("v", raw)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.of("v", nil); err != nil || again != one {
		t.Fatalf("asked again: %p, %v, want %p", again, err, one)
	}
	more := maxSchemas/one.Size() + 8
	var all sync.WaitGroup
	for i := range more {
		for range 2 {
			all.Go(func() {
				if _, err := s.of(fmt.Sprint(i), raw); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	size := 0
	for _, schema := range s.kept {
		size += schema.Size()
	}
	if size != s.size || size > maxSchemas || size < maxSchemas-2*one.Size() {
		t.Fatalf("%d schemas of %d bytes, counted as %d, want up to %d", len(s.kept), size, s.size, maxSchemas)
	}
	var invalid *jsonschema.Invalid
	if _, err := s.of("bad", json.RawMessage(`{}`)); !errors.As(err, &invalid) || s.kept["bad"] != nil {
		t.Fatalf("a bad schema: %v", err)
	}
	if no, err := s.check("bad", json.RawMessage(`{}`), json.RawMessage(`{}`)); err != nil || no == nil || !strings.HasSuffix(no.text, "\n(root): complexity") {
		t.Fatalf("a call with a bad schema: %+v, %v", no, err)
	}
	if no, err := s.check("v", raw, json.RawMessage(`{"p1":"two"}`)); err != nil || no == nil || !strings.HasSuffix(no.text, "\n/p1: maxLength") {
		t.Fatalf("a call with bad arguments: %+v, %v", no, err)
	}
}

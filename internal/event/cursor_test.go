package event_test

import (
	"errors"
	"math"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/event"
)

func TestCursor(t *testing.T) {
	t.Parallel()
	one, two := event.ChangesTopic("one"), event.ChangesTopic("two")
	for _, p := range []event.Position{{}, {"", 1}, {"e", 0}, {"epoch-2026", math.MaxInt64}, {"\x00\xff", 7}} {
		c := event.NewCursor(one, p)
		if got, err := c.Parse(one); err != nil || got != p {
			t.Errorf("%v: got %v, %v", p, got, err)
		}
		for name, bad := range map[string]event.Cursor{
			"cut": c[:len(c)-1], "longer": c + "A", "padded": c + "=", "newline": c + "\n", "inner newline": c[:4] + "\n" + c[4:],
			"space": " " + c, "empty": "", "not base64": "%" + c[1:], "version": "B" + c[1:],
		} {
			if got, err := bad.Parse(one); !errors.Is(err, event.ErrBadCursor) {
				// A longer or shorter one may be the cursor of another epoch; then it is that one's exact text.
				if event.NewCursor(one, got) != bad {
					t.Errorf("%v, %s: got %v, %v", p, name, got, err)
				}
			}
		}
		if _, err := c.Parse(two); !errors.Is(err, event.ErrBadCursor) {
			t.Errorf("%v: another topic takes it: %v", p, err)
		}
	}
	if _, err := event.NewCursor(one, event.Position{Offset: -1}).Parse(one); !errors.Is(err, event.ErrBadCursor) {
		t.Errorf("an offset below 0 is taken: %v", err)
	}
}

func FuzzCursor(f *testing.F) {
	topic := event.ChangesTopic("one")
	f.Add(string(event.NewCursor(topic, event.Position{Epoch: "1", Offset: 42})))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := event.Cursor(text).Parse(topic)
		if err != nil {
			if !errors.Is(err, event.ErrBadCursor) {
				t.Fatal(err)
			}
			return
		}
		if p.Offset < 0 || string(event.NewCursor(topic, p)) != text {
			t.Fatalf("%q is read as %v, which is written otherwise", text, p)
		}
	})
}

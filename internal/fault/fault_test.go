package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	name := fault.Plain(fault.Invalid, "input.name", "input.name is blank")
	limit := &fault.CapReached{Detail: fault.NewDetail(fault.AtCap, "input.name", "this agent is limited to 3 scripts"), Limit: 3}
	broken := errors.New("disk gone")
	cases := []struct {
		name  string
		err   error
		users int
		rest  bool
	}{
		{"nothing", nil, 0, false},
		{"one", name, 1, false},
		{"wrapped", fmt.Errorf("save: %w", limit), 1, false},
		{"joined twice", errors.Join(name, errors.Join(limit, name)), 3, false},
		{"another error", broken, 0, true},
		{"a user error beside another error", errors.Join(name, broken), 0, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			users, rest := fault.Refusals(c.err)
			if len(users) != c.users || (rest != nil) != c.rest {
				t.Fatalf("Refusals(%v) = %v, %v", c.err, users, rest)
			}
		})
	}
}

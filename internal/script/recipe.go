package script

import (
	"errors"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
)

// recipePath is where a recipe's scripts stand in the input.
const recipePath = "input.scripts"

// inRecipe is the place of a recipe's script.
func inRecipe(i int) place { return place{path: fmt.Sprintf("%s.%d", recipePath, i)} }

// checkShape holds all rules that need nothing but the input, and tells all faults at once.
func (in RecipeInput) checkShape() error {
	switch n := len(in.Scripts); {
	case n == 0:
		return fault.Plain(fault.Invalid, recipePath, "%s is empty", recipePath)
	case n > agent.MaxMaxScripts:
		return fault.Plain(fault.Invalid, recipePath, "%s has more than %d scripts", recipePath, agent.MaxMaxScripts)
	}
	faults := []error{idempotency.Check(in.IdempotencyKey)}
	first := map[string]int{}
	for i, c := range in.Scripts {
		faults = append(faults, c.check(inRecipe(i)))
		if before, ok := first[c.Name]; ok && ValidName(c.Name) {
			path := inRecipe(i).of("name")
			faults = append(faults, fault.Plain(fault.Invalid, path, "%s repeats the name of %s", path, inRecipe(before).path))
			continue
		}
		first[c.Name] = i
	}
	return errors.Join(faults...)
}

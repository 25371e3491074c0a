package jsonschema

import "encoding/json"

// LimitSteps lowers how many steps a Validate takes at most, so that a test need not wait for millions.
func (s *Schema) LimitSteps(n int) { s.limits.steps = n }

// Cost tells what a Validate takes: steps, and the most bytes at a time besides the arguments.
func (s *Schema) Cost(arguments string) (steps, memory int, spent bool) {
	root, err := parse(json.RawMessage(arguments))
	if err != nil {
		panic(err)
	}
	root.settle()
	r := s.set.run(root, s.limits)
	return r.meter.steps, r.meter.peak, r.spent
}

// LimitMemory lowers how many bytes a Validate holds at most.
func (s *Schema) LimitMemory(n int) { s.limits.memory = n }

package jsonschema

// LimitSteps lowers how many steps a Validate takes at most, so that a test need not wait for millions.
func (s *Schema) LimitSteps(n int) { s.steps = n }

package call

// Author is who wrote a version or made a change (SDL: union Author): a *key.Key or a *Step.
type Author any

// Step is the call of a run that wrote something (SDL: RunStep).
type Step struct {
	RunID  string
	CallID string
}

package event

// StreamGap is what subscribers get in place of events that cannot be had any more: read the state again, go on behind Cursor.
type StreamGap struct {
	Cursor Cursor
	// Reason says in words what happened.
	Reason string
}

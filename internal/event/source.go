package event

import "context"

// Source is the truth of one topic.
type Source interface {
	// Read answers up to limit events right behind the offset, in order and without holes between them, fewer where that many
	// would be too large, and the head. A limit of 0 asks for the head only.
	//
	// No events and a head beyond `after` means: not to be had yet (a replica lags); the stream asks again.
	Read(ctx context.Context, after int64, limit int) (Page, error)
}

// Page is what a Source answers.
type Page struct {
	// Events, the first right behind the offset asked for, except behind a Gap.
	Events []Event
	// Head is the offset of the last event there is, 0 for none.
	Head int64
	// Gap, when not empty, says why what lay between the offset asked for and Events (or, without events, Head) cannot be had any
	// more. A source whose head is its truth also answers a Gap when asked for a place beyond it.
	Gap string
	// Ended says that nothing comes behind Head.
	Ended bool
}

// Feed is a topic with its truth.
type Feed struct {
	Topic Topic
	// Epoch names the history that Source has; see Position. At most 64 bytes.
	Epoch  string
	Source Source
}

// Head is the feed's current position as a cursor.
func (f Feed) Head(ctx context.Context) (Cursor, error) {
	page, err := f.Source.Read(ctx, 0, 0)
	if err != nil {
		return "", err
	}
	return NewCursor(f.Topic, Position{f.Epoch, page.Head}), nil
}

package graph

import (
	"context"
	"sync/atomic"
)

type streamKey struct{}

// stream is what a subscription's source has to say about its end.
type stream struct{ cause atomic.Pointer[error] }

// withStream lets the source of the subscription that runs under the answered context say how it ended.
func withStream(ctx context.Context) (context.Context, *stream) {
	s := &stream{}
	return context.WithValue(ctx, streamKey{}, s), s
}

// err is why the source broke, or nil.
func (s *stream) err() error {
	if p := s.cause.Load(); p != nil {
		return *p
	}
	return nil
}

// BreakStream says that a subscription's channel is about to be closed because its source failed, not because it is done. Subscribers get no
// `complete` then, but an error (WebSocket) or the end of the connection (event stream), and go on from their last cursor. ctx is the one that the
// resolver was called with.
func BreakStream(ctx context.Context, err error) {
	if s, ok := ctx.Value(streamKey{}).(*stream); ok {
		s.cause.CompareAndSwap(nil, &err)
	}
}

package event

import (
	"context"
	"log/slog"
	"time"
)

// Relay delivers a stream on a channel, as gqlgen wants it. convert makes of an item what is sent; ok false passes over it (a
// filter). Relay closes the stream and the channel when the topic or the context ends, or the bus is closed. Where the source or
// convert fails, Relay logs it and tries again at the recheck interval, at the same place. The channel has no buffer: a reader
// that stops costs nothing but its stream.
func Relay[T any](ctx context.Context, s *Stream, convert func(context.Context, Item) (v T, ok bool, err error)) <-chan T {
	out := make(chan T)
	go func() {
		defer close(out)
		defer s.Close()
		for {
			item, ok := patiently(ctx, s, s.Next)
			if !ok {
				return
			}
			v, ok := patiently(ctx, s, func(ctx context.Context) (converted[T], error) {
				v, send, err := convert(ctx, item)
				return converted[T]{v, send}, err
			})
			if !ok {
				return
			}
			if !v.send {
				continue
			}
			select {
			case out <- v.value:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

type converted[T any] struct {
	value T
	send  bool
}

// patiently calls f until it succeeds; false when the stream or the context has ended.
func patiently[T any](ctx context.Context, s *Stream, f func(context.Context) (T, error)) (v T, ok bool) {
	for failures := 0; ; failures++ {
		v, err := f(ctx)
		if err == nil {
			return v, true
		}
		if ctx.Err() != nil || ended(err) {
			return v, false
		}
		if failures == 0 {
			slog.WarnContext(ctx, "a stream waits: its source cannot be read", "topic", s.feed.Topic, "error", err)
		}
		timer := time.NewTimer(s.options.Recheck)
		select {
		case <-ctx.Done():
			timer.Stop()
			return v, false
		case <-timer.C:
		}
	}
}

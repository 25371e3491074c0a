package event_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/event/eventtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	t.Parallel()
	eventtest.Suite(t, func(t *testing.T) func() event.Bus {
		bus := event.NewMemory()
		t.Cleanup(func() { _ = bus.Close() })
		return func() event.Bus { return bus }
	})
}

func TestRedis(t *testing.T) {
	t.Parallel()
	eventtest.Suite(t, func(t *testing.T) func() event.Bus {
		url, prefix := eventtest.Redis(t)
		return func() event.Bus { return eventtest.NewRedis(t, url, prefix) }
	})
}

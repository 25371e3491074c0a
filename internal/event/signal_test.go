package event_test

import (
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/event/eventtest"
)

// TestSignal: each publication is a signal, were it of the same offset again, also from another server.
func TestSignal(t *testing.T) {
	t.Parallel()
	memory := event.NewMemory()
	url, prefix := eventtest.Redis(t)
	for name, bus := range map[string][2]event.Bus{
		"memory": {memory, memory},
		"redis":  {eventtest.NewRedis(t, url, prefix), eventtest.NewRedis(t, url, prefix)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := bus[0].Watch("signals")
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			for range 3 {
				signal := w.Signal()
				deadline := time.After(eventtest.Patience)
				for told := false; !told; {
					if err := bus[1].Publish(t.Context(), "signals", event.Event{Offset: 1}); err != nil {
						t.Fatal(err)
					}
					select {
					case <-signal:
						told = true
					case <-time.After(50 * time.Millisecond): // the subscription may not be there yet
					case <-deadline:
						t.Fatal("no signal came")
					}
				}
			}
			if err := bus[0].Close(); err != nil {
				t.Fatal(err)
			}
			if w.Signal() != nil {
				t.Error("a closed bus still signals")
			}
		})
	}
}

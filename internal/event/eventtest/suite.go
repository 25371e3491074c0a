package eventtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/event"
)

type unexpected struct {
	offset int64
	item   event.Item
	err    error
}

func (u *unexpected) Error() string {
	return fmt.Sprintf("want event %d, got %+v, error %v", u.offset, u.item, u.err)
}

func (u *unexpected) Unwrap() error { return u.err }

// Deployment makes the servers of one deployment: each call of the function it answers is one more server's bus. All are closed
// with the test. A bus for a single server answers the same one each time.
type Deployment func(t *testing.T) (server func() event.Bus)

// Suite is what every bus must pass.
func Suite(t *testing.T, deploy Deployment) {
	for name, test := range map[string]func(*testing.T, Deployment){
		"history then live":        historyThenLive,
		"start now":                startNow,
		"resume at every position": resumeEverywhere,
		"late and repeated":        lateAndRepeated,
		"holes":                    holes,
		"lost notifications":       lostNotifications,
		"slow reader":              slowReader,
		"many on many servers":     many,
		"gap":                      gap,
		"foreign epoch":            foreignEpoch,
		"last event":               lastEvent,
		"source fails":             sourceFails,
		"topics apart":             topicsApart,
		"close":                    closeBus,
		"bad events":               badEvents,
		"relay":                    relay,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, deploy)
		})
	}
}

const topic = event.Topic("changes/one")

func publish(t testing.TB, bus event.Bus, events ...event.Event) {
	t.Helper()
	if err := bus.Publish(t.Context(), topic, events...); err != nil {
		t.Fatal(err)
	}
}

func historyThenLive(t *testing.T, deploy Deployment) {
	server := deploy(t)
	here, there := server(), server()
	source := &Source{}
	publish(t, here, source.Commit(150)...)
	s := Open(t, there, source.Feed(topic), event.Beginning(), event.Options{Recheck: Never})
	Expect(t, s, 1, 150)
	publish(t, here, source.Commit(1)...)
	Expect(t, s, 151, 151)
	publish(t, there, source.Commit(100)...)
	Expect(t, s, 152, 251)
}

func startNow(t *testing.T, deploy Deployment) {
	server := deploy(t)
	here, there := server(), server()
	source := &Source{}
	publish(t, here, source.Commit(10)...)
	s := Open(t, there, source.Feed(topic), event.Now(), event.Options{Recheck: Never})
	publish(t, here, source.Commit(3)...)
	Expect(t, s, 11, 13)
}

func resumeEverywhere(t *testing.T, deploy Deployment) {
	bus := deploy(t)()
	source := &Source{}
	publish(t, bus, source.Commit(40)...)
	feed := source.Feed(topic)
	cursors := []event.Cursor{event.NewCursor(topic, event.Position{Epoch: feed.Epoch})}
	all := Open(t, bus, feed, event.Beginning(), event.Options{})
	for range 40 {
		item, err := all.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		cursors = append(cursors, item.Cursor)
	}
	for i, cursor := range cursors {
		position, err := cursor.Parse(topic)
		if err != nil {
			t.Fatal(err)
		}
		s := Open(t, bus, feed, event.Behind(position), event.Options{Recheck: Never, Batch: 7})
		Expect(t, s, int64(i)+1, 40)
		if s.Cursor() != cursors[40] {
			t.Fatal("the stream's cursor is not its last event's")
		}
	}
}

func lateAndRepeated(t *testing.T, deploy Deployment) {
	server := deploy(t)
	here, there := server(), server()
	source := &Source{}
	s := Open(t, there, source.Feed(topic), event.Beginning(), event.Options{Recheck: Never})
	e := source.Commit(6)
	for _, i := range []int{1, 0, 0, 5, 1, 4, 3, 2, 5, 0} {
		publish(t, here, e[i])
	}
	Expect(t, s, 1, 6)
	publish(t, here, e...)
	Silent(t, s)
	publish(t, here, source.Commit(1)...)
	Expect(t, s, 7, 7)
}

func holes(t *testing.T, deploy Deployment) {
	server := deploy(t)
	here, there := server(), server()
	source := &Source{}
	s := Open(t, there, source.Feed(topic), event.Beginning(), event.Options{Recheck: Never})
	for round := range int64(20) {
		e := source.Commit(10)
		publish(t, here, e[2], e[9]) // the others never come over the bus
		Expect(t, s, 10*round+1, 10*round+10)
	}
	jump := source.Commit(5000)
	publish(t, here, jump[4999])
	Expect(t, s, 201, 5200)
}

func lostNotifications(t *testing.T, deploy Deployment) {
	bus := deploy(t)()
	source := &Source{}
	s := Open(t, bus, source.Feed(topic), event.Beginning(), event.Options{Recheck: 10 * time.Millisecond})
	for i := range int64(3) {
		source.Commit(1) // its server died before it published
		Expect(t, s, i+1, i+1)
	}
	// Many idle watchers ask the source about as often as one.
	before := source.Reads()
	began := time.Now()
	var idle sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	const watchers = 50
	for range watchers {
		w := Open(t, bus, source.Feed(topic), event.Now(), event.Options{Recheck: 10 * time.Millisecond})
		idle.Go(func() { _, _ = w.Next(ctx) })
	}
	idle.Wait()
	// Two reads each at the start (the head, and the look after the watch began), and one an interval for all.
	if most := 2*watchers + int(time.Since(began)/(10*time.Millisecond)) + 2; source.Reads()-before > most {
		t.Errorf("%d idle watchers read the source %d times, want at most %d", watchers, source.Reads()-before, most)
	}
}

func slowReader(t *testing.T, deploy Deployment) {
	server := deploy(t)
	here, there := server(), server()
	source := &Source{}
	slow := Open(t, there, source.Feed(topic), event.Beginning(), event.Options{Recheck: Never})
	quick := Open(t, there, source.Feed(topic), event.Beginning(), event.Options{Recheck: Never})
	publish(t, here, source.Commit(1)...)
	Expect(t, slow, 1, 1)
	Expect(t, quick, 1, 1)
	for i := range int64(30) { // far beyond the ring, with nobody reading slow
		publish(t, here, source.Commit(100)...)
		Expect(t, quick, 100*i+2, 100*i+101)
	}
	Expect(t, slow, 2, 3001)
	publish(t, here, source.Commit(1)...)
	Expect(t, slow, 3002, 3002)
}

// many has 20 writers and 20 readers on three servers; the writers publish out of order, and some of it not at all.
func many(t *testing.T, deploy Deployment) {
	server := deploy(t)
	buses := []event.Bus{server(), server(), server()}
	source := &Source{}
	const writers, readers, each = 20, 20, 100
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	var wait sync.WaitGroup
	errs := make(chan error, writers+readers)
	for i := range readers {
		options := event.Options{Recheck: 20 * time.Millisecond, Batch: 1 + i}
		s := Open(t, buses[i%3], source.Feed(topic), event.Beginning(), options)
		wait.Go(func() { errs <- expect(ctx, s, 1, writers*each) })
	}
	for i := range writers {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for range each {
				e := source.Commit(1)
				if random.IntN(10) == 0 {
					continue
				}
				if err := buses[(i+1)%3].Publish(ctx, topic, e...); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		})
	}
	wait.Wait()
	for range writers + readers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func gap(t *testing.T, deploy Deployment) {
	bus := deploy(t)()
	source := &Source{}
	source.Commit(100)
	source.Drop(60)
	s := Open(t, bus, source.Feed(topic), event.Beginning(), event.Options{Recheck: Never})
	item, err := s.Next(t.Context())
	if err != nil || item.Gap == "" || item.Cursor != event.NewCursor(topic, event.Position{Epoch: "1", Offset: 60}) {
		t.Fatalf("got %+v, %v; want a gap up to 60", item, err)
	}
	Expect(t, s, 61, 100)

	s = Open(t, bus, source.Feed(topic), event.Behind(event.Position{Epoch: "1", Offset: 500}), event.Options{Recheck: Never})
	item, err = s.Next(t.Context())
	if err != nil || item.Gap == "" {
		t.Fatalf("got %+v, %v; want a gap: the place is beyond the head", item, err)
	}
	publish(t, bus, source.Commit(1)...)
	Expect(t, s, 101, 101)
}

func foreignEpoch(t *testing.T, deploy Deployment) {
	bus := deploy(t)()
	source := &Source{}
	source.Commit(5)
	s := Open(t, bus, source.Feed(topic), event.Behind(event.Position{Epoch: "0", Offset: 2}), event.Options{Recheck: Never})
	item, err := s.Next(t.Context())
	if err != nil || item.Gap == "" || item.Cursor != event.NewCursor(topic, event.Position{Epoch: "1", Offset: 5}) {
		t.Fatalf("got %+v, %v; want a gap up to the head", item, err)
	}
	publish(t, bus, source.Commit(2)...)
	Expect(t, s, 6, 7)
}

func lastEvent(t *testing.T, deploy Deployment) {
	server := deploy(t)
	here, there := server(), server()
	source := &Source{}
	s := Open(t, there, source.Feed(topic), event.Beginning(), event.Options{Recheck: Never})
	publish(t, here, source.Commit(2)...)
	Expect(t, s, 1, 2)
	publish(t, here, source.End())
	Expect(t, s, 3, 3)
	for range 2 {
		if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Fatalf("got %v behind the last event, want io.EOF", err)
		}
	}
	for after := range int64(4) {
		s := Open(t, there, source.Feed(topic), event.Behind(event.Position{Epoch: "1", Offset: after}), event.Options{Recheck: Never})
		Expect(t, s, after+1, 3)
		if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Fatalf("got %v, want io.EOF", err)
		}
	}
}

func sourceFails(t *testing.T, deploy Deployment) {
	bus := deploy(t)()
	source := &Source{}
	source.Commit(3)
	broken := errors.New("no database")
	source.Fail(broken)
	if _, err := event.Open(t.Context(), bus, source.Feed(topic), event.Now(), event.Options{}); !errors.Is(err, broken) {
		t.Fatalf("Open: %v, want the source's error", err)
	}
	s := Open(t, bus, source.Feed(topic), event.Beginning(), event.Options{Recheck: Never})
	for range 2 {
		if _, err := s.Next(t.Context()); !errors.Is(err, broken) {
			t.Fatalf("Next: %v, want the source's error", err)
		}
	}
	source.Fail(nil)
	Expect(t, s, 1, 3)
}

func topicsApart(t *testing.T, deploy Deployment) {
	bus := deploy(t)()
	one, two := &Source{}, &Source{}
	s := Open(t, bus, one.Feed(topic), event.Beginning(), event.Options{Recheck: Never})
	other := event.Topic("changes/two")
	o := Open(t, bus, two.Feed(other), event.Beginning(), event.Options{Recheck: Never})
	if err := bus.Publish(t.Context(), other, two.Commit(3)...); err != nil {
		t.Fatal(err)
	}
	Expect(t, o, 1, 3)
	Silent(t, s)
	if _, err := o.Cursor().Parse(topic); !errors.Is(err, event.ErrBadCursor) {
		t.Fatalf("another topic's cursor: %v, want ErrBadCursor", err)
	}
}

func closeBus(t *testing.T, deploy Deployment) {
	bus := deploy(t)()
	source := &Source{}
	s := Open(t, bus, source.Feed(topic), event.Beginning(), event.Options{Recheck: Never})
	ended := make(chan error, 1)
	go func() {
		_, err := s.Next(context.Background())
		ended <- err
	}()
	for range 2 {
		if err := bus.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; !errors.Is(err, event.ErrClosed) {
		t.Fatalf("Next: %v, want ErrClosed", err)
	}
	if err := bus.Publish(t.Context(), topic, source.Commit(1)...); !errors.Is(err, event.ErrClosed) {
		t.Fatalf("Publish: %v, want ErrClosed", err)
	}
	if _, err := event.Open(t.Context(), bus, source.Feed(topic), event.Now(), event.Options{}); !errors.Is(err, event.ErrClosed) {
		t.Fatalf("Open: %v, want ErrClosed", err)
	}
}

func badEvents(t *testing.T, deploy Deployment) {
	bus := deploy(t)()
	largest := event.Event{Offset: 1, Payload: make([]byte, event.MaxPayload)}
	publish(t, bus, largest)
	for name, e := range map[string]event.Event{
		"offset 0":          {Offset: 0},
		"offset below 0":    {Offset: -1},
		"payload too large": {Offset: 1, Payload: make([]byte, event.MaxPayload+1)},
	} {
		if err := bus.Publish(t.Context(), topic, e); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// relay has a filter, a source that fails for a while, and an end.
func relay(t *testing.T, deploy Deployment) {
	bus := deploy(t)()
	source := &Source{}
	source.Commit(10)
	source.Fail(errors.New("no database"))
	s := Open(t, bus, source.Feed(topic), event.Beginning(), event.Options{Recheck: time.Millisecond})
	even := event.Relay(t.Context(), s, func(_ context.Context, item event.Item) (int64, bool, error) {
		return item.Event.Offset, item.Event.Offset%2 == 0, nil
	})
	source.Fail(nil)
	source.End()
	var got []int64
	for offset := range even {
		got = append(got, offset)
	}
	if fmt.Sprint(got) != "[2 4 6 8 10]" {
		t.Fatalf("got %v", got)
	}
}

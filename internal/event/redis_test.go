package event_test

import (
	"context"
	"fmt"
	"net"
	neturl "net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/event/eventtest"
)

const topic = event.Topic("output/one")

func publish(t testing.TB, bus event.Bus, events ...event.Event) {
	t.Helper()
	if err := bus.Publish(t.Context(), topic, events...); err != nil {
		t.Fatal(err)
	}
}

// TestRedisRestart kills Redis in the middle: writes go on, the writer's own server delivers at once, the others by looking at
// the source, and over Redis again when it is back.
func TestRedisRestart(t *testing.T) {
	t.Parallel()
	server := eventtest.StartServer(t)
	here, there := eventtest.NewRedis(t, server.URL, "d"), eventtest.NewRedis(t, server.URL, "d")
	source := &eventtest.Source{}
	own := eventtest.Open(t, here, source.Feed(topic), event.Beginning(), event.Options{Recheck: eventtest.Never})
	other := eventtest.Open(t, there, source.Feed(topic), event.Beginning(), event.Options{Recheck: eventtest.Never})
	patient := eventtest.Open(t, there, source.Feed(topic), event.Beginning(), event.Options{Recheck: 20 * time.Millisecond})

	publish(t, here, source.Commit(5)...)
	for _, s := range []*event.Stream{own, other, patient} {
		eventtest.Expect(t, s, 1, 5)
	}
	server.Stop(t)
	if err := here.Ping(t.Context()); err == nil {
		t.Error("Ping succeeds without Redis")
	}
	publish(t, here, source.Commit(5)...)
	eventtest.Expect(t, own, 6, 10)
	eventtest.Expect(t, patient, 6, 10)

	fresh := eventtest.Open(t, there, source.Feed("changes/fresh"), event.Beginning(), event.Options{Recheck: eventtest.Never})
	eventtest.Expect(t, fresh, 1, 10)
	server.Start(t)
	// other was told of nothing since the stop: that it was subscribed again makes it look.
	eventtest.Expect(t, other, 6, 10)
	publish(t, here, source.Commit(3)...)
	for _, s := range []*event.Stream{own, other, patient} {
		eventtest.Expect(t, s, 11, 13)
	}
}

// TestRedisHangs has a Redis that takes connections and does not answer.
func TestRedisHangs(t *testing.T) {
	t.Parallel()
	server := eventtest.StartServer(t)
	here, there := eventtest.NewRedis(t, server.URL, "d"), eventtest.NewRedis(t, server.URL, "d")
	source := &eventtest.Source{}
	other := eventtest.Open(t, there, source.Feed(topic), event.Beginning(), event.Options{Recheck: eventtest.Never})
	publish(t, here, source.Commit(1)...)
	eventtest.Expect(t, other, 1, 1)
	server.Pause(t)
	began := time.Now()
	for range 10_000 { // more than the queue holds
		publish(t, here, source.Commit(1)...)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("10,000 writes took %v while Redis hung", took)
	}
	server.Resume(t)
	publish(t, here, source.Commit(1)...)
	eventtest.Expect(t, other, 2, 10_002)
}

// TestRedisSilent has a connection that died without a word, as behind a firewall: it is noticed, and made anew.
func TestRedisSilent(t *testing.T) {
	t.Parallel()
	url, prefix := eventtest.Redis(t)
	u, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	network, address := "tcp", u.Host
	if u.Scheme == "unix" {
		network, address = "unix", u.Path
	}
	wall := newFirewall(t, network, address)
	through := neturl.URL{Scheme: "unix", User: u.User, Path: wall.path}
	there, err := event.NewRedisWithSilence(through.String(), prefix, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	here := eventtest.NewRedis(t, url, prefix)
	source := &eventtest.Source{}
	s := eventtest.Open(t, there, source.Feed(topic), event.Beginning(), event.Options{Recheck: eventtest.Never})
	publish(t, here, source.Commit(1)...)
	eventtest.Expect(t, s, 1, 1)
	for i := range int64(3) {
		wall.swallow()
		publish(t, here, source.Commit(1)...)
		eventtest.Expect(t, s, i+2, i+2)
	}
}

// firewall passes connections on, until it swallows what goes through those that there are.
type firewall struct {
	path string
	mu   sync.Mutex
	open []*atomic.Bool
}

func newFirewall(t *testing.T, network, address string) *firewall {
	f := &firewall{path: t.TempDir() + "/s"}
	listener, err := net.Listen("unix", f.path)
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	t.Cleanup(work.Wait)
	t.Cleanup(func() { listener.Close() })
	work.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, address)
			if err != nil {
				client.Close()
				continue
			}
			passes := new(atomic.Bool)
			passes.Store(true)
			f.mu.Lock()
			f.open = append(f.open, passes)
			f.mu.Unlock()
			work.Go(func() { pass(server, client, passes) })
			work.Go(func() { pass(client, server, passes) })
		}
	})
	return f
}

func (f *firewall) swallow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, passes := range f.open {
		passes.Store(false)
	}
	f.open = nil
}

func pass(to, from net.Conn, passes *atomic.Bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if !passes.Load() {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// TestRedisCloseSends: what was published right before the bus is closed still goes out.
func TestRedisCloseSends(t *testing.T) {
	t.Parallel()
	url, prefix := eventtest.Redis(t)
	there := eventtest.NewRedis(t, url, prefix)
	for range 20 {
		here := eventtest.NewRedis(t, url, prefix)
		source := &eventtest.Source{}
		source.Commit(1)
		s := eventtest.Open(t, there, source.Feed(topic), event.Beginning(), event.Options{Recheck: eventtest.Never})
		eventtest.Expect(t, s, 1, 1)
		publish(t, here, source.Commit(500)...)
		if err := here.Close(); err != nil {
			t.Fatal(err)
		}
		eventtest.Expect(t, s, 2, 501)
		s.Close()
	}
}

// TestRedisAbsent starts without Redis.
func TestRedisAbsent(t *testing.T) {
	t.Parallel()
	bus := eventtest.NewRedis(t, "unix://"+t.TempDir()+"/none", "d")
	source := &eventtest.Source{}
	s := eventtest.Open(t, bus, source.Feed(topic), event.Beginning(), event.Options{Recheck: eventtest.Never})
	publish(t, bus, source.Commit(3)...)
	eventtest.Expect(t, s, 1, 3)
	if _, err := bus.Append(t.Context(), topic, event.Retention{MaxEvents: 10, TTL: time.Minute}, eventtest.Event(1)); err == nil {
		t.Error("Append succeeds without Redis")
	}
}

func TestRedisURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "localhost:6379", "http://x", "redis://user:hush@host:port/0"} {
		bus, err := event.NewRedis(url, "")
		if err == nil {
			_ = bus.Close()
			t.Errorf("%q was taken", url)
		} else if strings.Contains(err.Error(), "hush") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

// replicated is a source on another server than the topic's writer.
type replicated struct{ replica event.Replica }

func (r replicated) Read(ctx context.Context, after int64, limit int) (event.Page, error) {
	events, head, err := r.replica.Stored(ctx, topic, after, limit)
	return event.Page{Events: events, Head: head}, err
}

// TestRedisReplica holds Append and Stored to their promises.
func TestRedisReplica(t *testing.T) {
	t.Parallel()
	server := eventtest.StartServer(t)
	writer, reader := eventtest.NewRedis(t, server.URL, "d"), eventtest.NewRedis(t, server.URL, "d")
	feed := event.Feed{Topic: topic, Epoch: "1", Source: replicated{reader}}
	watch := eventtest.Open(t, reader, feed, event.Beginning(), event.Options{Recheck: eventtest.Never})
	keep := event.Retention{MaxEvents: 1000, TTL: time.Minute}
	var all []event.Event
	for offset := range int64(20) {
		all = append(all, eventtest.Event(offset+1))
	}
	appends := func(want int64, events ...event.Event) {
		t.Helper()
		if stored, err := writer.Append(t.Context(), topic, keep, events...); err != nil || stored != want {
			t.Fatalf("Append: %d, %v; want %d", stored, err, want)
		}
	}
	reads := func(after int64, limit int, first, last, head int64) {
		t.Helper()
		events, stored, err := reader.Stored(t.Context(), topic, after, limit)
		if err != nil || stored != head || int64(len(events)) != last-first+1 {
			t.Fatalf("Stored(%d, %d): %d events, head %d, %v; want %d to %d, head %d", after, limit, len(events), stored, err, first, last, head)
		}
		for i, e := range events {
			if want := eventtest.Event(first + int64(i)); fmt.Sprint(e) != fmt.Sprint(want) {
				t.Fatalf("got %v, want %v", e, want)
			}
		}
	}
	reads(0, 5, 1, 0, 0)
	appends(4, all[:4]...)
	appends(4, all[2:4]...) // repeated
	appends(6, all[1:6]...) // partly repeated
	appends(6, all[7:9]...) // a hole: told, not stored
	appends(10, all[6:10]...)
	reads(0, 100, 1, 10, 10)
	reads(3, 4, 4, 7, 10)
	reads(10, 4, 11, 10, 10)
	reads(0, 0, 1, 0, 10)
	eventtest.Expect(t, watch, 1, 10)

	server.Stop(t)
	if _, err := writer.Append(t.Context(), topic, keep, all[10]); err == nil {
		t.Fatal("Append succeeds without Redis")
	}
	server.Start(t)
	appends(0, all[11]) // the replica is empty: the writer learns where to begin
	appends(12, all[:12]...)
	last := all[12]
	last.Last = true
	appends(13, last)
	events, _, err := reader.Stored(t.Context(), topic, 12, 1)
	if err != nil || len(events) != 1 || !events[0].Last {
		t.Fatalf("the last event: %v, %v", events, err)
	}
	if err := writer.Drop(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	reads(0, 5, 1, 0, 0)
}

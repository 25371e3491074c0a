package event_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/event/eventtest"
)

// BenchmarkDelivery is the cost of one event to one subscriber, from Publish to Next.
func BenchmarkDelivery(b *testing.B) {
	for _, subscribers := range []int{1, 100, 1000} {
		for name, connect := range map[string]func(testing.TB) (here, there event.Bus){
			"memory": func(testing.TB) (event.Bus, event.Bus) { m := event.NewMemory(); return m, m },
			"redis": func(t testing.TB) (event.Bus, event.Bus) {
				url, prefix := eventtest.Redis(t)
				return eventtest.NewRedis(t, url, prefix), eventtest.NewRedis(t, url, prefix)
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, subscribers), func(b *testing.B) {
				here, there := connect(b)
				source := &eventtest.Source{}
				var received, wait sync.WaitGroup
				ctx, cancel := context.WithCancel(context.Background())
				for range subscribers {
					s := eventtest.Open(b, there, source.Feed(topic), event.Beginning(), event.Options{})
					received.Add(1)
					wait.Go(func() {
						for {
							if _, err := s.Next(ctx); err != nil {
								return
							}
							received.Done()
						}
					})
				}
				publish(b, here, source.Commit(1)...)
				received.Wait()
				for b.Loop() {
					received.Add(subscribers)
					publish(b, here, source.Commit(1)...)
					received.Wait()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*subscribers), "ns/delivery")
				cancel()
				wait.Wait()
			})
		}
	}
}

// BenchmarkIdle is the memory that an idle stream costs, each on a topic of its own and waiting.
func BenchmarkIdle(b *testing.B) {
	const streams = 10_000
	for b.Loop() {
		bus := event.NewMemory()
		ctx, cancel := context.WithCancel(context.Background())
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var wait sync.WaitGroup
		source := &eventtest.Source{}
		for i := range streams {
			s, err := event.Open(ctx, bus, source.Feed(event.ChangesTopic(fmt.Sprint(i))), event.Now(), event.Options{})
			if err != nil {
				b.Fatal(err)
			}
			wait.Go(func() {
				defer s.Close()
				_, _ = s.Next(ctx)
			})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/streams, "B/stream")
		cancel()
		wait.Wait()
	}
}

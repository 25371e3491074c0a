package event

import (
	"math/rand/v2"
	"testing"
)

// TestRing puts events in random order, size and distance, and compares the ring with a map of all of them.
func TestRing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(3, seed))
		var r ring
		all := map[int64]Event{}
		base := 1 + random.Int64N(1000)
		for range 500 {
			switch random.IntN(100) {
			case 0:
				base += random.Int64N(1_000_000)
			case 1, 2, 3:
				base += random.Int64N(2 * ringEvents)
			default:
				base += random.Int64N(3)
			}
			e := Event{Offset: max(1, base-random.Int64N(1+random.Int64N(400)))}
			if random.IntN(4) == 0 {
				e.Payload = make([]byte, random.IntN(MaxPayload))
			}
			if old, ok := all[e.Offset]; ok {
				e = old
			}
			all[e.Offset] = e
			r.add(0, []Event{e})
			compare(t, &r, all, max(0, base-random.Int64N(500)))
		}
		if r.top-r.low >= ringEvents || len(r.slots) > ringEvents || r.bytes > ringBytes {
			t.Fatalf("the ring outgrew its bounds: %d to %d, %d slots, %d bytes", r.low, r.top, len(r.slots), r.bytes)
		}
	}
}

func compare(t *testing.T, r *ring, all map[int64]Event, after int64) {
	t.Helper()
	bytes := 0
	for _, e := range r.slots {
		bytes += len(e.Payload)
	}
	if bytes != r.bytes {
		t.Fatalf("it counts %d bytes, and has %d", r.bytes, bytes)
	}
	events, behind := r.next(nil, after, 100)
	for i, e := range events {
		if want := all[after+1+int64(i)]; e.Offset != after+1+int64(i) || want.Offset != e.Offset || len(e.Payload) != len(want.Payload) {
			t.Fatalf("behind %d comes %d", after, e.Offset)
		}
	}
	highest := int64(0)
	for offset := range all {
		highest = max(highest, offset)
	}
	if len(events) > 0 == behind && behind != (highest > after) || len(events) == 0 && behind != (highest > after) {
		t.Fatalf("behind %d: %d events, more %v, the highest is %d", after, len(events), behind, highest)
	}
}

// TestRingKeepsTheNewest: events that come in order are there until 256 newer ones, or 512 KiB of them, have come.
func TestRingKeepsTheNewest(t *testing.T) {
	t.Parallel()
	for payload, kept := range map[int]int64{10: ringEvents, 16 << 10: 32, MaxPayload: 2} {
		var r ring
		for offset := int64(1); offset <= 1000; offset++ {
			r.add(0, []Event{{Offset: offset, Payload: make([]byte, payload)}})
		}
		if events, _ := r.next(nil, 1000-kept, 1000); int64(len(events)) != kept {
			t.Errorf("payloads of %d: %d events are there, want %d", payload, len(events), kept)
		}
		if events, behind := r.next(nil, 999-kept, 1000); len(events) > 0 || !behind {
			t.Errorf("payloads of %d: more than %d events are there", payload, kept)
		}
	}
}

package event

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// redisQueue is how many publications wait for Redis before further ones are left to the watchers' rechecks, and redisBatch
	// how many go in one round trip.
	redisQueue = 4096
	redisBatch = 256
	// redisPatience bounds every exchange with Redis, and redisSilence how long the subscription may be silent before it is asked
	// whether it is still there; no answer in that time again, and it is made anew.
	redisPatience = 3 * time.Second
	redisSilence  = 5 * time.Second
	// A connection that was lost is made anew after redisRetryMin, then after twice as long, up to redisRetryMax.
	redisRetryMin = 50 * time.Millisecond
	redisRetryMax = 2 * time.Second
)

// Redis is the bus of any number of servers that share one Redis. A process has one Pub/Sub connection, one sender, and a ring
// for each watched topic. What it publishes reaches its own watchers directly, whether Redis is there or not.
type Redis struct {
	client  *redis.Client
	prefix  string
	silence time.Duration
	hub     hub
	queue   chan publication
	// dirty is signalled when topics got their first or lost their last watcher.
	dirty chan struct{}
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu     sync.Mutex
	wanted map[Topic]bool // watched topics
}

type publication struct {
	topic   Topic
	message []byte
}

// NewRedis makes a bus of a redis://, rediss:// or unix:// URL. Everything it keeps in Redis begins with prefix and a colon, so
// that deployments can share one; empty is "scriptorium". It does not wait for Redis to be there.
func NewRedis(url, prefix string) (*Redis, error) { return newRedis(url, prefix, redisSilence) }

func newRedis(url, prefix string, silence time.Duration) (*Redis, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		// The library's error may hold the URL, and the URL a password.
		return nil, errors.New("event: not a Redis URL (redis://host:port/database, rediss://…, unix://path)")
	}
	if prefix == "" {
		prefix = "scriptorium"
	}
	options.DialTimeout = redisPatience
	options.ReadTimeout = redisPatience
	options.WriteTimeout = redisPatience
	options.MaxRetries = 1 // a connection of the pool may be a dead one; beyond that, who asks decides
	options.DialerRetries = 1
	options.ContextTimeoutEnabled = true
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	quietRedis.Do(func() { redis.SetLogger(redisLog{}) })

	ctx, stop := context.WithCancel(context.Background())
	b := &Redis{
		client:  redis.NewClient(options),
		prefix:  prefix + ":",
		silence: silence,
		queue:   make(chan publication, redisQueue),
		dirty:   make(chan struct{}, 1),
		stop:    stop,
		wanted:  make(map[Topic]bool),
	}
	b.hub.onChange = b.want
	b.done.Go(func() { b.send(ctx) })
	b.done.Go(func() { b.listen(ctx) })
	return b, nil
}

var quietRedis sync.Once

// redisLog takes what the library would print: every failure it tells of is also an error that we get.
type redisLog struct{}

func (redisLog) Printf(ctx context.Context, format string, v ...any) {
	slog.DebugContext(ctx, "redis: "+fmt.Sprintf(format, v...))
}

// Close implements Bus.
func (b *Redis) Close() error {
	if !b.hub.close() {
		return nil
	}
	b.stop()
	b.done.Wait()
	return b.client.Close()
}

// Ping implements Bus.
func (b *Redis) Ping(ctx context.Context) error { return b.client.Ping(ctx).Err() }

// Watch implements Bus.
func (b *Redis) Watch(topic Topic) (*Watch, error) { return b.hub.watch(topic) }

// Replica implements Bus.
func (b *Redis) Replica() Replica { return b }

// Publish implements Bus.
func (b *Redis) Publish(_ context.Context, topic Topic, events ...Event) error {
	if err := b.PublishHere(topic, events...); err != nil {
		return err
	}
	for _, e := range events {
		select {
		case b.queue <- publication{topic, encodeMessage(e)}:
		default: // Redis is away or too slow: the others' rechecks find it
		}
	}
	return nil
}

// PublishHere implements Bus.
func (b *Redis) PublishHere(topic Topic, events ...Event) error {
	if err := check(events); err != nil {
		return err
	}
	return b.hub.add(topic, events)
}

// send takes publications from the queue to Redis, as many at a time as wait. At the end it sends what is left, once.
func (b *Redis) send(ctx context.Context) {
	failing := false
	for ended := false; !ended; {
		var batch []publication
		select {
		case <-ctx.Done():
			if batch = b.batch(nil); failing || len(batch) == 0 {
				return
			}
		case p := <-b.queue:
			batch = b.batch([]publication{p})
		}
		err := b.sendBatch(ctx, batch)
		if err != nil && !failing {
			slog.WarnContext(ctx, "Redis cannot be reached: other servers see events later", "error", err)
		}
		failing = err != nil
		ended = failing && ctx.Err() != nil
	}
}

// batch adds what waits in the queue.
func (b *Redis) batch(batch []publication) []publication {
	for len(batch) < redisBatch {
		select {
		case p := <-b.queue:
			batch = append(batch, p)
		default:
			return batch
		}
	}
	return batch
}

// sendBatch is not cut off by Close, which waits for it.
func (b *Redis) sendBatch(ctx context.Context, batch []publication) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisPatience)
	defer cancel()
	_, err := b.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, p := range batch {
			pipe.Publish(ctx, b.channel(p.topic), p.message)
		}
		return nil
	})
	return err
}

func (b *Redis) channel(topic Topic) string { return b.prefix + "topic:" + string(topic) }
func (b *Redis) stored(topic Topic) string  { return b.prefix + "stream:" + string(topic) }

// want notes that a topic got its first watcher or lost its last one.
func (b *Redis) want(topic Topic, watched bool) {
	b.mu.Lock()
	if watched {
		b.wanted[topic] = true
	} else {
		delete(b.wanted, topic)
	}
	b.mu.Unlock()
	select {
	case b.dirty <- struct{}{}:
	default:
	}
}

// listen keeps the subscription up. The library's own ways are not used: PubSub.Channel drops messages when its buffer stays
// full for a minute, and does not tell of a connection that it made anew.
func (b *Redis) listen(ctx context.Context) {
	retry := redisRetryMin
	for ctx.Err() == nil {
		began := time.Now()
		err := b.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > redisRetryMax {
			retry = redisRetryMin
			slog.WarnContext(ctx, "the subscription to Redis was lost and is made anew", "error", err)
		}
		timer := time.NewTimer(retry)
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
		retry = min(2*retry, redisRetryMax)
	}
}

// session is the life of one connection: all watched topics are subscribed, and Redis's confirmation of each is the sign to look
// at its source once more, since events may have passed before it.
func (b *Redis) session(ctx context.Context) error {
	pubsub := b.client.Subscribe(ctx)
	ctx, cancel := context.WithCancel(ctx)
	var subscriber sync.WaitGroup
	subscriber.Go(func() { b.subscribe(ctx, pubsub) })
	// Close ends a Receive that waits; it does not look at its context.
	closer := context.AfterFunc(ctx, func() { _ = pubsub.Close() })
	defer subscriber.Wait()
	defer func() { cancel(); closer(); _ = pubsub.Close() }()

	if err := pubsub.Ping(ctx); err != nil { // connects
		return err
	}
	asked := false
	for {
		message, err := pubsub.ReceiveTimeout(ctx, b.silence)
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() && !asked {
			asked = true
			if err := pubsub.Ping(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		asked = false
		b.receive(ctx, message)
	}
}

func (b *Redis) receive(ctx context.Context, message any) {
	switch m := message.(type) {
	case *redis.Subscription:
		if topic, ok := b.topic(m.Channel); ok && m.Kind == "subscribe" {
			b.hub.refresh(topic)
		}
	case *redis.Message:
		topic, ok := b.topic(m.Channel)
		e, err := decodeMessage(m.Payload)
		if !ok || err != nil {
			slog.WarnContext(ctx, "a message in Redis is not an event", "channel", m.Channel, "error", err)
			return
		}
		_ = b.hub.add(topic, []Event{e}) // closed: nobody listens
	}
}

func (b *Redis) topic(channel string) (Topic, bool) {
	name, ok := strings.CutPrefix(channel, b.prefix+"topic:")
	return Topic(name), ok
}

// subscribe brings the connection's subscriptions in line with the watched topics, again and again until ctx ends.
func (b *Redis) subscribe(ctx context.Context, pubsub *redis.PubSub) {
	have := make(map[Topic]bool)
	for {
		var add, remove []string
		b.mu.Lock()
		for topic := range b.wanted {
			if !have[topic] {
				have[topic] = true
				add = append(add, b.channel(topic))
			}
		}
		for topic := range have {
			if !b.wanted[topic] {
				delete(have, topic)
				remove = append(remove, b.channel(topic))
			}
		}
		b.mu.Unlock()
		var err error
		if len(add) > 0 {
			err = pubsub.Subscribe(ctx, add...)
		}
		if len(remove) > 0 && err == nil {
			err = pubsub.Unsubscribe(ctx, remove...)
		}
		if err != nil {
			_ = pubsub.Close() // ends the session
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-b.dirty:
		}
	}
}

// appendScript stores a batch that comes in order, and publishes it in any case: a full or read-only stream must not keep the
// events from those who are there. KEYS: stream. ARGV: channel, events kept, milliseconds kept, then offset and message of each.
var appendScript = redis.NewScript(`
local last = 0
local newest = redis.pcall('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
if newest.err then
  last = -1
elseif newest[1] then
  last = tonumber(string.match(newest[1][1], '^%d+'))
end
for i = 4, #ARGV, 2 do
  local offset = tonumber(ARGV[i])
  if last >= 0 and offset == last + 1 then
    local added = redis.pcall('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], ARGV[i] .. '-0', 'e', ARGV[i + 1])
    if type(added) ~= 'table' or not added.err then last = offset end
  end
  redis.pcall('PUBLISH', ARGV[1], ARGV[i + 1])
end
redis.pcall('PEXPIRE', KEYS[1], ARGV[3])
return math.max(last, 0)
`)

// Append implements Replica.
func (b *Redis) Append(ctx context.Context, topic Topic, keep Retention, events ...Event) (int64, error) {
	if err := check(events); err != nil {
		return 0, err
	}
	args := make([]any, 0, 3+2*len(events))
	args = append(args, b.channel(topic), keep.MaxEvents, keep.TTL.Milliseconds())
	for _, e := range events {
		args = append(args, e.Offset, encodeMessage(e))
	}
	return appendScript.Run(ctx, b.client, []string{b.stored(topic)}, args...).Int64()
}

// Stored implements Replica.
func (b *Redis) Stored(ctx context.Context, topic Topic, after int64, limit int) ([]Event, int64, error) {
	key := b.stored(topic)
	var entries, newest *redis.XMessageSliceCmd
	_, err := b.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		if limit > 0 {
			entries = pipe.XRangeN(ctx, key, strconv.FormatInt(after+1, 10)+"-0", "+", int64(limit))
		}
		newest = pipe.XRevRangeN(ctx, key, "+", "-", 1)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	var head int64
	for _, entry := range newest.Val() {
		if head, err = entryOffset(entry); err != nil {
			return nil, 0, err
		}
	}
	if entries == nil {
		return nil, head, nil
	}
	var events []Event
	for _, entry := range entries.Val() {
		text, _ := entry.Values["e"].(string)
		e, err := decodeMessage(text)
		if err != nil {
			return nil, 0, fmt.Errorf("event: entry %s of %s: %w", entry.ID, key, err)
		}
		if e.Offset != after+1+int64(len(events)) {
			break
		}
		events = append(events, e)
	}
	return events, head, nil
}

// Drop implements Replica.
func (b *Redis) Drop(ctx context.Context, topic Topic) error {
	return b.client.Unlink(ctx, b.stored(topic)).Err()
}

func entryOffset(entry redis.XMessage) (int64, error) {
	text, _, _ := strings.Cut(entry.ID, "-")
	return strconv.ParseInt(text, 10, 64)
}

// A message is an event as Redis carries it: eight bytes of offset, one of flags, the payload.
const (
	messageHeader = 9
	flagLast      = 1
)

func encodeMessage(e Event) []byte {
	m := make([]byte, messageHeader, messageHeader+len(e.Payload))
	binary.BigEndian.PutUint64(m, uint64(e.Offset))
	if e.Last {
		m[8] = flagLast
	}
	return append(m, e.Payload...)
}

func decodeMessage(m string) (Event, error) {
	if len(m) < messageHeader || len(m) > messageHeader+MaxPayload || m[8]&^flagLast != 0 {
		return Event{}, errors.New("not a message of this version")
	}
	e := Event{Last: m[8] == flagLast, Payload: []byte(m[messageHeader:])}
	e.Offset = int64(binary.BigEndian.Uint64([]byte(m[:8])))
	if e.Offset < 1 {
		return Event{}, errors.New("an offset below 1")
	}
	return e, nil
}

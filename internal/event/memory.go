package event

import "context"

// Memory is the bus of a single server. Its zero value is ready.
type Memory struct{ hub hub }

// NewMemory makes the bus of a single server.
func NewMemory() *Memory { return &Memory{} }

// Publish implements Bus.
func (m *Memory) Publish(_ context.Context, topic Topic, events ...Event) error {
	return m.PublishHere(topic, events...)
}

// PublishHere implements Bus.
func (m *Memory) PublishHere(topic Topic, events ...Event) error {
	if err := check(events); err != nil {
		return err
	}
	return m.hub.add(topic, events)
}

// Watch implements Bus.
func (m *Memory) Watch(topic Topic) (*Watch, error) { return m.hub.watch(topic) }

// Replica implements Bus: there are no other servers.
func (m *Memory) Replica() Replica { return nil }

// Ping implements Bus.
func (m *Memory) Ping(context.Context) error { return nil }

// Close implements Bus.
func (m *Memory) Close() error {
	m.hub.close()
	return nil
}

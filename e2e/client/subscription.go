package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/gorilla/websocket"
)

// handshake is how long a socket may take until the server has taken its key.
const handshake = 10 * time.Second

// Subscription is one subscription on a socket of its own (graphql-transport-ws).
type Subscription struct {
	conn *websocket.Conn
	stop func() bool // of the context's watch
}

// Subscribe opens a socket and starts the subscription. The end of ctx ends it. Close it.
func (s *Server) Subscribe(ctx context.Context, document string, variables any) (*Subscription, error) {
	dialer := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}, HandshakeTimeout: handshake}
	conn, _, err := dialer.DialContext(ctx, "ws://"+s.Host+"/graphql", nil)
	if err != nil {
		return nil, fmt.Errorf("open the WebSocket: %w", err)
	}
	sub := &Subscription{conn: conn, stop: context.AfterFunc(ctx, func() { conn.Close() })}
	if err := sub.begin(s.Secret, document, variables); err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

func (s *Subscription) begin(secret, document string, variables any) error {
	if err := s.conn.SetReadDeadline(time.Now().Add(handshake)); err != nil {
		return err
	}
	if err := s.send(message{Type: "connection_init", Payload: map[string]string{"Authorization": "Bearer " + secret}}); err != nil {
		return err
	}
	m, _, err := s.receive()
	if err == nil && m != "connection_ack" {
		err = fmt.Errorf("the server says %s instead of connection_ack", m)
	}
	if err == nil {
		err = s.send(message{Type: "subscribe", ID: "1", Payload: map[string]any{"query": document, "variables": variables}})
	}
	if err != nil {
		return err
	}
	return s.conn.SetReadDeadline(time.Time{})
}

// message is what a client sends.
type message struct {
	Type    string `json:"type"`
	ID      string `json:"id,omitempty"`
	Payload any    `json:"payload,omitempty"`
}

func (s *Subscription) send(m message) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(handshake)); err != nil {
		return err
	}
	return s.conn.WriteJSON(m)
}

// receive waits for the next message that is no ping.
func (s *Subscription) receive() (kind string, payload json.RawMessage, err error) {
	for {
		var m struct {
			Type    string
			Payload json.RawMessage
		}
		if err := s.conn.ReadJSON(&m); err != nil {
			return "", nil, fmt.Errorf("read the WebSocket: %w", err)
		}
		if m.Type != "ping" {
			return m.Type, m.Payload, nil
		}
		if err := s.send(message{Type: "pong"}); err != nil {
			return "", nil, err
		}
	}
}

// Next waits for the next event and reads its data into out; io.EOF behind the last one.
func (s *Subscription) Next(out any) error {
	kind, payload, err := s.receive()
	if err != nil {
		return err
	}
	switch kind {
	case "complete":
		return io.EOF
	case "next":
		var next struct {
			Data   json.RawMessage
			Errors []problem
		}
		if err := json.Unmarshal(payload, &next); err != nil {
			return err
		}
		if len(next.Errors) > 0 {
			return fmt.Errorf("the server answers: %s", next.Errors[0])
		}
		return json.Unmarshal(next.Data, out)
	}
	return fmt.Errorf("the server says %s: %s", kind, payload)
}

// Close ends the subscription and its socket.
func (s *Subscription) Close() {
	s.stop()
	s.conn.Close()
}

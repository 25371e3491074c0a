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
	m, err := s.receive(nil)
	if err == nil && m.Type != "connection_ack" {
		err = fmt.Errorf("the server says %s instead of connection_ack", m.Type)
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

// received is what a server sends; Data is read into what it points to.
type received struct {
	Type    string
	Payload struct {
		Data   any
		Errors []problem
	}
}

// receive waits for the next message that is no ping, and reads its data into out. Each message is read once: there may be a lot of data.
func (s *Subscription) receive(out any) (*received, error) {
	for {
		_, text, err := s.conn.ReadMessage()
		if err != nil {
			return nil, fmt.Errorf("read the WebSocket: %w", err)
		}
		m := &received{}
		m.Payload.Data = out
		err = json.Unmarshal(text, m)
		switch {
		case m.Type == "ping":
			if err := s.send(message{Type: "pong"}); err != nil {
				return nil, err
			}
		case m.Type == "error": // its payload is a list
			return nil, fmt.Errorf("the server says %s", text)
		case err != nil:
			return nil, fmt.Errorf("a message cannot be read: %w", err)
		default:
			return m, nil
		}
	}
}

// Next waits for the next event and reads its data into out; io.EOF behind the last one.
func (s *Subscription) Next(out any) error {
	m, err := s.receive(out)
	switch {
	case err != nil:
		return err
	case m.Type == "complete":
		return io.EOF
	case m.Type != "next":
		return fmt.Errorf("the server says %s", m.Type)
	case len(m.Payload.Errors) > 0:
		return fmt.Errorf("the server answers: %s", m.Payload.Errors[0])
	}
	return nil
}

// Close ends the subscription and its socket.
func (s *Subscription) Close() {
	s.stop()
	s.conn.Close()
}

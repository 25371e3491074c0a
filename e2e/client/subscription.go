package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/gorilla/websocket"
)

// handshake is how long a socket may take until the server has taken its key.
const handshake = 10 * time.Second

// Socket is an open WebSocket (graphql-transport-ws) whose key the server has taken. It has one subscription at a time.
type Socket struct {
	conn *websocket.Conn
	stop func() bool // of the context's watch
	last int         // the newest operation's id
}

// Subscription is one subscription on a Socket.
type Subscription struct {
	*Socket
	id string
}

// Open opens a socket. The end of ctx ends it. Close it.
func (s *Server) Open(ctx context.Context) (*Socket, error) {
	dialer := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}, HandshakeTimeout: handshake}
	conn, _, err := dialer.DialContext(ctx, "ws://"+s.Host+"/graphql", nil)
	if err != nil {
		return nil, fmt.Errorf("open the WebSocket: %w", err)
	}
	socket := &Socket{conn: conn, stop: context.AfterFunc(ctx, func() { conn.Close() })}
	if err := socket.begin(s.Secret); err != nil {
		socket.Close()
		return nil, err
	}
	return socket, nil
}

// Subscribe opens a socket and starts the subscription. The end of ctx ends both. Close it.
func (s *Server) Subscribe(ctx context.Context, document string, variables any) (*Subscription, error) {
	socket, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	sub, err := socket.Subscribe(document, variables)
	if err != nil {
		socket.Close()
	}
	return sub, err
}

// Subscribe starts a subscription. Read the one before to its end first.
func (s *Socket) Subscribe(document string, variables any) (*Subscription, error) {
	s.last++
	sub := &Subscription{Socket: s, id: strconv.Itoa(s.last)}
	return sub, s.send(message{Type: "subscribe", ID: sub.id, Payload: map[string]any{"query": document, "variables": variables}})
}

func (s *Socket) begin(secret string) error {
	if err := s.conn.SetReadDeadline(time.Now().Add(handshake)); err != nil {
		return err
	}
	if err := s.send(message{Type: "connection_init", Payload: map[string]string{"Authorization": "Bearer " + secret}}); err != nil {
		return err
	}
	text, err := s.receive()
	if err != nil {
		return err
	}
	if m, err := read(text, nil); err != nil || m.Type != "connection_ack" {
		return fmt.Errorf("the server says %s instead of connection_ack", text)
	}
	return s.conn.SetReadDeadline(time.Time{})
}

// message is what a client sends.
type message struct {
	Type    string `json:"type"`
	ID      string `json:"id,omitempty"`
	Payload any    `json:"payload,omitempty"`
}

func (s *Socket) send(m message) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(handshake)); err != nil {
		return err
	}
	return s.conn.WriteJSON(m)
}

// received is what a server sends; Data is read into what it points to.
type received struct {
	Type    string
	ID      string
	Payload struct {
		Data   any
		Errors []problem
	}
}

// kindOf is the type of a short message. Long ones have events.
func kindOf(text []byte) string {
	var m struct{ Type string }
	if len(text) <= 512 {
		_ = json.Unmarshal(text, &m)
	}
	return m.Type
}

// receive waits for the next message that is no ping.
func (s *Socket) receive() ([]byte, error) {
	for {
		_, text, err := s.conn.ReadMessage()
		if err != nil {
			return nil, fmt.Errorf("read the WebSocket: %w", err)
		}
		if kindOf(text) != "ping" {
			return text, nil
		}
		if err := s.send(message{Type: "pong"}); err != nil {
			return nil, err
		}
	}
}

// read reads a message, its data into out. Each is read once: there may be a lot of data.
func read(text []byte, out any) (*received, error) {
	m := &received{}
	m.Payload.Data = out
	err := json.Unmarshal(text, m)
	switch {
	case m.Type == "error": // its payload is a list
		return nil, fmt.Errorf("the server says %s", text)
	case err != nil:
		return nil, fmt.Errorf("a message cannot be read: %w", err)
	}
	return m, nil
}

// Next waits for the next event and reads its data into out; io.EOF behind the last one.
func (s *Subscription) Next(out any) error {
	text, err := s.receive()
	if err != nil {
		return err
	}
	return s.Read(text, out)
}

// Receive waits for the next message and does not read it: Read does, later, where the time of that is not to count. It says whether the message
// is the one behind the last event.
func (s *Subscription) Receive() (text []byte, last bool, err error) {
	text, err = s.receive()
	kind := kindOf(text)
	return text, kind == "complete" || kind == "error", err
}

// Read reads the data of a message into out; io.EOF where it is the one behind the last event.
func (s *Subscription) Read(text []byte, out any) error {
	m, err := read(text, out)
	switch {
	case err != nil:
		return err
	case m.ID != s.id:
		return fmt.Errorf("the server says %s of another subscription", m.Type)
	case m.Type == "complete":
		return io.EOF
	case m.Type != "next":
		return fmt.Errorf("the server says %s", m.Type)
	case len(m.Payload.Errors) > 0:
		return fmt.Errorf("the server answers: %s", m.Payload.Errors[0])
	}
	return nil
}

// Close ends the socket and what is on it.
func (s *Socket) Close() {
	s.stop()
	s.conn.Close()
}

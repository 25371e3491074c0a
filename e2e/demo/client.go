package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/gorilla/websocket"
)

// refusal is a user error of a mutation.
type refusal struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Path    []string `json:"path"`
}

// mutate sends a mutation of one field, and reads that field's payload into out.
func (s *server) mutate(ctx context.Context, document string, input, out any) error {
	body, err := json.Marshal(map[string]any{"query": document, "variables": map[string]any{"input": input}})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.host+"/graphql", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.secret)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Data   map[string]json.RawMessage
		Errors []refusal
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	if len(answer.Errors) > 0 {
		return fmt.Errorf("the server answers: %s", answer.Errors[0].Message)
	}
	for name, payload := range answer.Data {
		var refused struct{ UserErrors []refusal }
		if err := json.Unmarshal(payload, &refused); err != nil {
			return err
		}
		for _, r := range refused.UserErrors {
			return fmt.Errorf("%s was refused: %s %s: %s", name, r.Code, strings.Join(r.Path, "."), r.Message)
		}
		return json.Unmarshal(payload, out)
	}
	return fmt.Errorf("the answer is empty")
}

// outputEvent is an event of callOutput: a chunk has data, the last event has call.
type outputEvent struct {
	Kind   string `json:"__typename"`
	Stream string
	Offset string
	Data   []byte
	Call   ended
}

// ended is a call at its end.
type ended struct {
	Status   string
	ExitCode int
	Output   struct {
		StdoutBytes, StdoutSha256, StderrBytes, StderrSha256 string
	}
}

const callOutput = `subscription($call: ID!) { callOutput(call: $call) {
  __typename
  ... on OutputChunk { stream offset data }
  ... on CallFinished { call { status exitCode output { stdoutBytes stdoutSha256 stderrBytes stderrSha256 } } }
} }`

// follow reads what a call prints, from its start to its end, over a WebSocket, and hands each event to take.
func (s *server) follow(ctx context.Context, call string, take func(outputEvent) error) error {
	dialer := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}}
	conn, _, err := dialer.DialContext(ctx, "ws://"+s.host+"/graphql", nil)
	if err != nil {
		return fmt.Errorf("open the WebSocket: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	send := func(kind, id string, payload any) error {
		m := map[string]any{"type": kind, "payload": payload}
		if id != "" {
			m["id"] = id
		}
		return conn.WriteJSON(m)
	}
	if err := send("connection_init", "", map[string]string{"Authorization": "Bearer " + s.secret}); err != nil {
		return err
	}
	for {
		var m struct {
			Type    string
			Payload json.RawMessage
		}
		if err := conn.ReadJSON(&m); err != nil {
			return fmt.Errorf("read the WebSocket: %w", err)
		}
		switch m.Type {
		case "connection_ack":
			err = send("subscribe", "1", map[string]any{"query": callOutput, "variables": map[string]string{"call": call}})
		case "ping":
			err = send("pong", "", nil)
		case "next":
			var next struct {
				Data struct{ CallOutput outputEvent }
			}
			if err = json.Unmarshal(m.Payload, &next); err == nil {
				err = take(next.Data.CallOutput)
			}
		case "complete":
			return nil
		default:
			err = fmt.Errorf("the server says %s: %s", m.Type, m.Payload)
		}
		if err != nil {
			return err
		}
	}
}

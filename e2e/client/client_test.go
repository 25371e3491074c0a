package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// fake is a server that answers every POST with one text, and every socket with some messages.
func fake(t *testing.T, answer string, messages ...string) *Server {
	t.Helper()
	up := websocket.Upgrader{Subprotocols: []string{"graphql-transport-ws"}}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !websocket.IsWebSocketUpgrade(r) {
			if r.Header.Get("Authorization") != "Bearer s3cret" {
				answer = `{"errors":[{"message":"no key"}]}`
			}
			_, _ = io.WriteString(w, answer)
			return
		}
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		for _, m := range messages {
			if m == "<-" {
				_, _, err = conn.ReadMessage()
			} else {
				err = conn.WriteMessage(websocket.TextMessage, []byte(m))
			}
			if err != nil {
				return
			}
		}
		_, _, _ = conn.ReadMessage() // until the client goes
	}))
	t.Cleanup(h.Close)
	return &Server{Host: strings.TrimPrefix(h.URL, "http://"), Secret: "s3cret"}
}

func TestDo(t *testing.T) {
	t.Parallel()
	var out struct {
		AgentCreate struct{ Agent struct{ ID string } }
	}
	if err := fake(t, `{"data":{"agentCreate":{"agent":{"id":"agt_1"},"userErrors":[]}}}`).Do(t.Context(), "mutation", nil, &out); err != nil || out.AgentCreate.Agent.ID != "agt_1" {
		t.Errorf("%+v %v", out, err)
	}
	for answer, want := range map[string]string{
		`{"data":{"a":{"userErrors":[{"code":"INVALID","message":"too long","path":["input","name"]}]}}}`: "a was refused: INVALID input.name too long",
		`{"errors":[{"message":"no such field","path":["a",0]}]}`:                                         "the server answers: a.0 no such field",
		`nothing`: "cannot be read",
	} {
		if err := fake(t, answer).Do(t.Context(), "mutation", nil, &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

func TestSubscribe(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s, err := fake(t, "", "<-", `{"type":"ping"}`, "<-", `{"type":"connection_ack"}`, "<-", `{"type":"next","id":"1","payload":{"data":{"n":7}}}`, `{"type":"complete","id":"1"}`).
		Subscribe(ctx, "subscription", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var out struct{ N int }
	if err := s.Next(&out); err != nil || out.N != 7 {
		t.Errorf("%d %v", out.N, err)
	}
	if err := s.Next(&out); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last event: %v", err)
	}
	bad, err := fake(t, "", "<-", `{"type":"connection_ack"}`, "<-", `{"type":"error","payload":[{"message":"no"}]}`).Subscribe(ctx, "subscription", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	if err := bad.Next(&out); err == nil || !strings.Contains(err.Error(), `"no"`) {
		t.Errorf("a refused subscription: %v", err)
	}
}

// script makes a program for Start that is a shell script, and where it leaves word of its data folder.
func script(t *testing.T, body string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(p, []byte("#!/bin/sh\ndata=${3#--data=}\n"+body), 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStart(t *testing.T) {
	t.Parallel()
	s, err := Start(t.Context(), script(t, `trap 'exit 0' TERM; mkdir -p "$data"; echo key > "$data/admin.key"; echo "Scriptorium is ready: http://127.0.0.1:1234/playground"; while :; do sleep 0.05; done`))
	if err != nil {
		t.Fatal(err)
	}
	if s.Host != "127.0.0.1:1234" || s.Secret != "key" {
		t.Errorf("%s %q", s.Host, s.Secret)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder stays: %v", err)
	}
	if _, err := Start(t.Context(), script(t, "echo it is broken >&2; exit 3")); err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "it is broken") {
		t.Errorf("a server that ends at once: %v", err)
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
)

// mutate sends a mutation of one field, and reads that field's payload into out.
func (s *server) mutate(ctx context.Context, document string, input, out any) error {
	var data map[string]json.RawMessage
	if err := s.api.Do(ctx, document, map[string]any{"input": input}, &data); err != nil {
		return err
	}
	for _, payload := range data {
		return json.Unmarshal(payload, out)
	}
	return errors.New("the answer is empty")
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

// follow reads what a call prints, from its start to its end, and hands each event to take.
func (s *server) follow(ctx context.Context, call string, take func(outputEvent) error) error {
	sub, err := s.api.Subscribe(ctx, callOutput, map[string]string{"call": call})
	if err != nil {
		return err
	}
	defer sub.Close()
	for {
		var next struct{ CallOutput outputEvent }
		switch err := sub.Next(&next); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := take(next.CallOutput); err != nil {
			return err
		}
	}
}

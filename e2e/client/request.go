package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// problem is an error of a request, or a user error of a mutation.
type problem struct {
	Code    string
	Message string
	Path    []any
}

func (p problem) String() string {
	parts := make([]string, len(p.Path))
	for i, e := range p.Path {
		parts[i] = fmt.Sprint(e)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Code, strings.Join(parts, "."), p.Message))
}

// Do sends one operation and reads its data into out, which may be nil. Errors of the request are errors, and so are the userErrors of a
// mutation that asks for them.
func (s *Server) Do(ctx context.Context, document string, variables, out any) error {
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.Host+"/graphql", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.Secret)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Data   json.RawMessage
		Errors []problem
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("the answer cannot be read (%s): %w", response.Status, err)
	}
	if len(answer.Errors) > 0 {
		return fmt.Errorf("the server answers: %s", answer.Errors[0])
	}
	if err := refusals(answer.Data); err != nil || out == nil {
		return err
	}
	return json.Unmarshal(answer.Data, out)
}

// refusals looks for userErrors in the payloads of mutations.
func refusals(data json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	for name, field := range fields {
		var payload struct{ UserErrors []problem }
		if json.Unmarshal(field, &payload) == nil && len(payload.UserErrors) > 0 {
			return fmt.Errorf("%s was refused: %s", name, payload.UserErrors[0])
		}
	}
	return nil
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// step is a request of a page, and the lines that its answer promises.
type step struct {
	line     int // of the page
	document string
	promises []string
}

// tour plays a page of requests in their order: each must be answered without an error, and hold what the page promises.
func tour(ctx context.Context, s *server, page string) error {
	steps, err := readTour(page)
	if err != nil {
		return err
	}
	seen := map[string]string{} // the last id of each kind, by its prefix
	for _, st := range steps {
		document, err := fillIn(st.document, seen)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", page, st.line, err)
		}
		var data any
		if err := s.api.Do(ctx, document, nil, &data); err != nil {
			return fmt.Errorf("%s:%d: %w", page, st.line, err)
		}
		texts, err := look(data, seen)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", page, st.line, err)
		}
		for _, p := range st.promises {
			if !strings.Contains(texts, p) {
				return fmt.Errorf("%s:%d: the answer does not hold %q:\n%s", page, st.line, p, texts)
			}
		}
	}
	fmt.Printf("Played %s: %d requests, all answered as it says.\n", page, len(steps))
	return nil
}

// readTour reads a page's blocks: a graphql one is a step, a text one behind it is what it promises.
func readTour(page string) (steps []step, err error) {
	f, err := os.Open(page)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	kind := ""
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		l := lines.Text()
		switch fence, opens := strings.CutPrefix(l, "```"); {
		case opens && kind != "":
			kind = ""
		case opens:
			if kind = fence; kind == "graphql" {
				steps = append(steps, step{line: n + 1})
			}
		case kind == "graphql":
			steps[len(steps)-1].document += l + "\n"
		case kind == "text":
			steps[len(steps)-1].promises = append(steps[len(steps)-1].promises, l)
		}
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("%s has no requests", page)
	}
	return steps, lines.Err()
}

var blanks = regexp.MustCompile(`"([a-z]+_)…"`)

// fillIn puts ids where a page leaves them open.
func fillIn(document string, seen map[string]string) (string, error) {
	var missing error
	filled := blanks.ReplaceAllStringFunc(document, func(blank string) string {
		prefix := blanks.FindStringSubmatch(blank)[1]
		if seen[prefix] == "" {
			missing = fmt.Errorf("no answer before has an id that begins with %s", prefix)
		}
		return `"` + seen[prefix] + `"`
	})
	return filled, missing
}

// look notes the ids of an answer, answers all of its texts, and fails where it holds a user error.
func look(data any, seen map[string]string) (texts string, err error) {
	switch v := data.(type) {
	case map[string]any:
		if faults, _ := v["userErrors"].([]any); len(faults) > 0 {
			b, _ := json.Marshal(faults)
			return "", fmt.Errorf("it was refused: %s", b)
		}
		if id, ok := v["id"].(string); ok {
			prefix, _, _ := strings.Cut(id, "_")
			seen[prefix+"_"] = id
		}
		for _, inner := range v {
			t, err := look(inner, seen)
			if err != nil {
				return "", err
			}
			texts += t
		}
	case []any:
		for _, inner := range v {
			t, err := look(inner, seen)
			if err != nil {
				return "", err
			}
			texts += t
		}
	case string:
		texts = v + "\n"
	}
	return texts, nil
}

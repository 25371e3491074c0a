package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	root := flag.String("root", ".", "the repository's `folder`, with bin and e2e")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := demo(ctx, *root); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo starts a server, shows the program on it, plays the tour of an agent's life, and stops it.
func demo(ctx context.Context, root string) (err error) {
	binary, err := filepath.Abs(filepath.Join(root, "bin", "scriptorium"))
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); err != nil {
		return errors.New("bin/scriptorium is missing: run make build")
	}
	source, err := os.ReadFile(filepath.Join(root, "e2e", "testdata", "sales_report.py"))
	if err != nil {
		return err
	}
	orders, err := os.ReadFile(filepath.Join(root, "e2e", "testdata", "orders.csv"))
	if err != nil {
		return err
	}
	s, err := startServer(ctx, binary)
	if err != nil {
		return err
	}
	fmt.Printf("A throw-away server listens on %s.\n", s.api.Host)
	err = show(ctx, s, string(source), string(orders))
	if err == nil {
		err = tour(ctx, s, filepath.Join(root, "docs", "an-agents-life.md"))
	}
	if err != nil {
		return errors.Join(err, fmt.Errorf("the end of the server's log:\n%s", s.log), s.kill())
	}
	if err := s.stop(ctx); err != nil {
		return err
	}
	fmt.Println("The server is stopped; no process, mount or file is left.")
	return nil
}

// show saves the program, runs it, follows its output, checks the result, and finishes the run.
func show(ctx context.Context, s *server, source, orders string) error {
	run, err := prepare(ctx, s, source)
	if err != nil {
		return err
	}
	for _, by := range []string{"region", "product"} {
		if err := reportBy(ctx, s, run, orders, by); err != nil {
			return err
		}
	}
	if err := s.meet(); err != nil {
		return err
	}
	var finished struct{ Run struct{ Status string } }
	err = s.mutate(ctx, `mutation($input: RunFinishInput!) { runFinish(input: $input) { run { status } userErrors { code message path } } }`,
		map[string]string{"run": run}, &finished)
	if err == nil && finished.Run.Status != "FINISHED" {
		err = fmt.Errorf("the run is %s", finished.Run.Status)
	}
	return err
}

// prepare makes an agent, saves the program as its script sales_report, and creates a run.
func prepare(ctx context.Context, s *server, source string) (run string, err error) {
	var made struct{ Agent struct{ ID string } }
	err = s.mutate(ctx, `mutation($input: AgentCreateInput!) { agentCreate(input: $input) { agent { id } userErrors { code message path } } }`,
		map[string]string{"name": "the shop's assistant"}, &made)
	if err != nil {
		return "", err
	}
	var saved struct {
		Version struct {
			Number     int
			SourceHash string
		}
	}
	parameters := json.RawMessage(`{"type":"object","required":["csv","by"],"additionalProperties":false,` +
		`"properties":{"csv":{"type":"string"},"by":{"enum":["region","product"]}}}`)
	err = s.mutate(ctx, `mutation($input: AgentScriptSaveInput!) { agentScriptSave(input: $input) {
	  version { number sourceHash } userErrors { code message path } } }`,
		map[string]any{"agent": made.Agent.ID, "name": "sales_report", "description": "Sales for each group of a CSV of orders.",
			"source": source, "parameters": parameters}, &saved)
	if err != nil {
		return "", err
	}
	if want := hash([]byte(source)); saved.Version.SourceHash != want {
		return "", fmt.Errorf("the saved source has hash %s, not %s", saved.Version.SourceHash, want)
	}
	fmt.Printf("Saved sales_report, version %d.\n", saved.Version.Number)
	var created struct{ Run struct{ ID string } }
	err = s.mutate(ctx, `mutation($input: RunCreateInput!) { runCreate(input: $input) { run { id } userErrors { code message path } } }`,
		map[string]string{"agent": made.Agent.ID}, &created)
	return created.Run.ID, err
}

// reportBy calls the tool once, prints what it prints as it comes, and checks what it answers.
func reportBy(ctx context.Context, s *server, run, orders, by string) error {
	out := newOutput()
	var called struct{ Call struct{ ID string } }
	err := s.mutate(ctx, `mutation($input: ToolCallInput!) { toolCall(input: $input) { call { id } userErrors { code message path } } }`,
		map[string]any{"run": run, "name": "sales_report", "wait": false, "arguments": map[string]string{"csv": orders, "by": by}}, &called)
	if err != nil {
		return err
	}
	fmt.Printf("Called sales_report by %s with %d KiB of orders:\n", by, len(orders)>>10)
	if err := s.follow(ctx, called.Call.ID, out.take); err != nil {
		return err
	}
	if err := out.check(); err != nil {
		return err
	}
	got, err := lastLine(string(out.bytes["STDOUT"]))
	if err != nil {
		return err
	}
	want, err := expected(orders, by)
	if err != nil {
		return err
	}
	if d := differences(got, want); len(d) > 0 {
		return fmt.Errorf("the result is wrong:\n  %s", strings.Join(d, "\n  "))
	}
	fmt.Printf("The result is right: %d rows, %d left out, %d groups, %d bytes of output in %d chunks, proved by SHA-256.\n",
		got.Rows, got.LeftOut, len(got.Groups), len(out.bytes["STDOUT"])+len(out.bytes["STDERR"]), out.chunks)
	return nil
}

// output gathers and prints what a call prints.
type output struct {
	begin   time.Time
	bytes   map[string][]byte
	printed map[string]int // bytes
	chunks  int
	end     *ended
}

func newOutput() *output {
	return &output{begin: time.Now(), bytes: map[string][]byte{}, printed: map[string]int{}}
}

// print prints the lines of a stream that are whole by now.
func (o *output) print(stream string) {
	for line := range bytes.Lines(o.bytes[stream][o.printed[stream]:]) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			return
		}
		o.printed[stream] += len(line)
		text := strings.TrimRight(string(line), "\n")
		if len(text) > 100 {
			text = text[:97] + "..."
		}
		fmt.Printf("  %6d ms  %-6s  %s\n", time.Since(o.begin).Milliseconds(), strings.ToLower(stream), text)
	}
}

func (o *output) take(e outputEvent) error {
	switch e.Kind {
	case "OutputChunk":
		if at := fmt.Sprint(len(o.bytes[e.Stream])); e.Offset != at {
			return fmt.Errorf("a chunk of %s begins at %s, not at %s", e.Stream, e.Offset, at)
		}
		o.bytes[e.Stream] = append(o.bytes[e.Stream], e.Data...)
		o.chunks++
		o.print(e.Stream)
	case "CallFinished":
		o.end = &e.Call
	default:
		return fmt.Errorf("an event of kind %q", e.Kind)
	}
	return nil
}

// check compares what came with what the server says at the end.
func (o *output) check() error {
	if o.end == nil {
		return errors.New("the stream ended before the call")
	}
	if o.end.Status != "SUCCEEDED" || o.end.ExitCode != 0 {
		return fmt.Errorf("the call is %s with exit code %d", o.end.Status, o.end.ExitCode)
	}
	for stream, says := range map[string][2]string{
		"STDOUT": {o.end.Output.StdoutBytes, o.end.Output.StdoutSha256},
		"STDERR": {o.end.Output.StderrBytes, o.end.Output.StderrSha256},
	} {
		if b := o.bytes[stream]; says != [2]string{fmt.Sprint(len(b)), hash(b)} {
			return fmt.Errorf("%s: %d bytes came, the server has %s of another hash", stream, len(b), says[0])
		}
	}
	return nil
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// lastLine reads the report in the last line of a program's output.
func lastLine(text string) (r report, err error) {
	text = strings.TrimRight(text, "\n")
	if err := json.Unmarshal([]byte(text[strings.LastIndexByte(text, '\n')+1:]), &r); err != nil {
		return r, fmt.Errorf("the last line is no report: %w", err)
	}
	return r, nil
}

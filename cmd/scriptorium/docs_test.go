package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var helpFlag = regexp.MustCompile(`(?m)^  --([a-z-]+)(?: [a-zA-Z]+)?\n      (.*)\n      environment ([A-Z_]+)(?:, default (.*))?$`)

// flagTable is the table of docs/operating.md, made of what --help says.
func flagTable(t *testing.T) string {
	t.Helper()
	var help strings.Builder
	if _, err := parseConfig("serve", []string{"--help"}, environment(nil), &help); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("--help answers %v", err)
	}
	var out strings.Builder
	out.WriteString("| flag | environment | default | what it is |\n|---|---|---|---|\n")
	for _, m := range helpFlag.FindAllStringSubmatch(help.String(), -1) {
		name, words, environment, standard := m[1], m[2], m[3], m[4]
		if standard != "" {
			standard = "`" + standard + "`"
		}
		fmt.Fprintf(&out, "| `--%s` | `%s` | %s | %s |\n", name, environment, standard, words)
	}
	return out.String()
}

// The flags of docs/operating.md are those that there are.
func TestFlagsAreDocumented(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "<!-- flags:")
	_, rest, _ = strings.Cut(rest, "-->\n")
	got, _, found := strings.Cut(rest, "<!-- end of flags -->")
	if want := flagTable(t); !found || got != want {
		t.Errorf("the table of flags in docs/operating.md should be:\n%s", want)
	}
	if n := strings.Count(got, "\n"); n < 10 {
		t.Errorf("the table has %d lines", n)
	}
}

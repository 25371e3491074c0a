package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The orders are what their generator writes.
func TestOrdersAreGenerated(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("python3", "../testdata/make_orders.py").Output()
	if err != nil {
		t.Fatalf("python3 is needed: %v", err)
	}
	if !bytes.Equal(out, []byte(read(t, "orders.csv"))) {
		t.Error("testdata/orders.csv is not what make_orders.py writes")
	}
}

// Both ways of computing agree, and a wrong figure is noticed.
func TestFigures(t *testing.T) {
	t.Parallel()
	orders := read(t, "orders.csv")
	for _, by := range []string{"region", "product"} {
		input, err := json.Marshal(map[string]string{"csv": orders, "by": by})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("python3", "../testdata/sales_report.py")
		cmd.Stdin = bytes.NewReader(input)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("python3 is needed: %v", err)
		}
		got, err := lastLine(string(out))
		if err != nil {
			t.Fatal(err)
		}
		want, err := expected(orders, by)
		if err != nil {
			t.Fatal(err)
		}
		if d := differences(got, want); len(d) > 0 {
			t.Errorf("by %s:\n%s", by, strings.Join(d, "\n"))
		}
		if want.Rows != 4000 || want.LeftOut < 10 || len(want.Groups) < 4 {
			t.Errorf("by %s: %d rows, %d left out, %d groups", by, want.Rows, want.LeftOut, len(want.Groups))
		}
		for name, g := range want.Groups {
			g.Units++
			want.Groups[name] = g
		}
		if d := differences(got, want); len(d) != len(want.Groups) {
			t.Errorf("by %s: %d wrong figures are %d differences", by, len(want.Groups), len(d))
		}
	}
}

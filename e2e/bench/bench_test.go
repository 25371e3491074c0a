package main

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSample(t *testing.T) {
	t.Parallel()
	var s sample
	for i := range 100 {
		s = append(s, time.Duration(100-i)*time.Millisecond)
	}
	for p, want := range map[float64]float64{.5: 50, .99: 99, 1: 100, 0: 1} {
		if got := s.ms(p); got != want {
			t.Errorf("%v of 1 to 100 is %v, want %v", p, got, want)
		}
	}
	if r := (sample{2, 30, 8}).over(sample{2, 10, 4}); r != 2 {
		t.Errorf("the pairs' ratio is %v", r)
	}
	now := time.Unix(10, 0)
	var since sample
	since.since(now, "9000000000\nnot a time\n9999000000\n")
	if len(since) != 2 || since[0] != time.Second || since[1] != time.Millisecond {
		t.Errorf("%v", since)
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	rows := table{ratio("at its bar", 5, 4, 1.25, "ms"), more("at its bar", 51, 1, 50), ratio("shown only", 9, 1, 0, "ms")}
	if err := rows.pastBars(); err != nil {
		t.Error(err)
	}
	rows = append(rows, ratio("too slow", 5.1, 4, 1.25, "ms"), more("too late", 51.5, 1, 50))
	err := rows.pastBars()
	if err == nil || strings.Count(err.Error(), "\n") != 2 || !strings.Contains(err.Error(), "too slow: 1.27, bar 1.25") || !strings.Contains(err.Error(), "too late: +50.5 ms, bar +50 ms") {
		t.Errorf("%v", err)
	}
	var out strings.Builder
	if err := rows.print(&out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "PAST THE BAR"); n != 2 {
		t.Errorf("%d rows are marked:\n%s", n, &out)
	}
}

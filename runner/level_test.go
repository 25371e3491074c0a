package runner

import (
	"errors"
	"strings"
	"testing"
)

func TestIsolationLevels(t *testing.T) {
	t.Parallel()
	all := lacksOf("", true, errors.New("the server is not root"))
	all = append(all, Confinement{UID: "0", Capabilities: "8001f"}.lacks()...)
	for _, c := range []struct {
		level IsolationLevel
		lacks []Lack
		names []string // in the error, none for no error
	}{
		{"", all, nil},
		{IsolationAny, all, nil},
		{IsolationImage, all, []string{"image (computers are made of this machine's own /usr, read-only)"}},
		{IsolationImage, all[1:], nil},
		{IsolationFull, all, []string{"image", "root (the server is not root)", "memory cgroup (the server is not root)", "no seccomp filter, it may gain privileges, it has capabilities, it is root in its user namespace"}},
		{IsolationFull, all[2:3], []string{"memory cgroup"}},
		{IsolationFull, nil, nil},
		{"much", nil, []string{`"much"`}},
	} {
		err := c.level.Check(c.lacks)
		if (err == nil) != (c.names == nil) || err != nil && !errors.Is(err, ErrNotConfigured) {
			t.Errorf("%q with %v: %v", c.level, c.lacks, err)
		}
		for _, n := range c.names {
			if err == nil || !strings.Contains(err.Error(), n) {
				t.Errorf("%q with %v does not name %q: %v", c.level, c.lacks, n, err)
			}
		}
	}
	if lacks := lacksOf("/image", false, nil); lacks != nil {
		t.Errorf("lacks where there are none: %v", lacks)
	}
}

func TestConfinementOf(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]Confinement{
		"Name:\texe\nUid:\t65534\t65534\t65534\t65534\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n": {
			Seccomp: true, NoNewPrivileges: true, UID: "65534"},
		"Uid:\t1000\t0\t0\t0\nCapEff:\t000000000008001f\nNoNewPrivs:\t0\nSeccomp:\t0\n": {Capabilities: "8001f", UID: "0"},
		"Uid:\t7\nSeccomp:\t1\n": {UID: "7"}, // the strict mode is not a filter
		"Seccomp:\n":             {},
		"":                       {},
	} {
		if got := confinementOf(status); got != want {
			t.Errorf("%q: %+v, want %+v", status, got, want)
		}
	}
	if lacks := (Confinement{Seccomp: true, NoNewPrivileges: true, UID: "65534"}).lacks(); lacks != nil {
		t.Errorf("lacks of a confined process: %v", lacks)
	}
}

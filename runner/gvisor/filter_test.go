//go:build amd64 && !race

package gvisor

import (
	"slices"
	"testing"

	"gvisor.dev/gvisor/pkg/seccomp"
	"gvisor.dev/gvisor/runsc/boot/filter"
	"gvisor.dev/gvisor/runsc/boot/filter/config"
)

// The race detector brings rules of its own along, and is never part of what makes sandboxes: with it there is nothing to compare.

// TestFilters: the filters that were generated are those that this version of gVisor compiles, instruction by instruction.
func TestFilters(t *testing.T) {
	useFilters()
	options := FilterOptions()
	if len(options) < 2 || len(options) != len(filters) {
		t.Fatalf("%d filters for %d kinds of sandboxes", len(filters), len(options))
	}
	for _, o := range options {
		for _, fd := range []uint32{3, 11, 1 << 16} {
			o.ControllerFD = fd
			rules, deny := config.Rules(o)
			want, _, err := (&seccomp.Program{
				RuleSets: []seccomp.RuleSet{{Rules: deny}, {Rules: rules, Action: seccomp.Allow}}, Options: config.SeccompOptions(o),
			}).Build()
			if err != nil {
				t.Fatal(err)
			}
			p, ok := filter.GetPrecompiled(o.ConfigKey())
			if !ok {
				t.Fatalf("there is no filter for %s: run go generate", o.ConfigKey())
			}
			got, err := p.RenderInstructions(o.Vars())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("the filter for %s is another one: run go generate", o.ConfigKey())
			}
		}
	}
}

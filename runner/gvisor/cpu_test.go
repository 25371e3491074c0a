//go:build amd64

package gvisor

import (
	"reflect"
	"testing"

	"gvisor.dev/gvisor/pkg/cpuid"
)

// TestCPU: gVisor is told of the processor what it finds by itself.
func TestCPU(t *testing.T) {
	want := cpuid.FeatureSet{Function: &cpuid.Native{}}.Fixed()
	once := askOnce{}
	if got := (cpuid.FeatureSet{Function: once}).Fixed(); !reflect.DeepEqual(got.Function, want.Function) {
		t.Errorf("asked once\n%v and not\n%v", got, want)
	}
	if len(once) > 60 {
		t.Errorf("the processor is asked %d times", len(once))
	}
	readCPU()
	cpuid.Initialize()
	got := cpuid.HostFeatureSet()
	if !reflect.DeepEqual(got.Function, want.Function) || got.FlagString() != want.FlagString() {
		t.Errorf("%v and not\n%v", got, want)
	}
}

//go:build amd64

package gvisor

import (
	"reflect"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/cpuid"
)

// TestCPU: gVisor is told of the processor what it finds by itself.
func TestCPU(t *testing.T) {
	// On one processor: what each of them answers has its own number in it.
	runtime.LockOSThread() // for good: the thread ends with the test
	var now unix.CPUSet
	if err := unix.SchedGetaffinity(0, &now); err != nil {
		t.Fatal(err)
	}
	var one unix.CPUSet
	for cpu := 0; one.Count() == 0; cpu++ {
		if now.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
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

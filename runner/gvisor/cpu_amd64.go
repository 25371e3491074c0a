package gvisor

import (
	"sync"
	_ "unsafe" // for linkname

	"gvisor.dev/gvisor/pkg/cpuid"
)

// What gVisor's package cpuid does once, and what it sets then.

//go:linkname cpuOnce gvisor.dev/gvisor/pkg/cpuid.initOnce
var cpuOnce sync.Once

//go:linkname cpuFeatures gvisor.dev/gvisor/pkg/cpuid.hostFeatureSet
var cpuFeatures cpuid.FeatureSet

//go:linkname readMaxCPUFreq gvisor.dev/gvisor/pkg/cpuid.readMaxCPUFreq
func readMaxCPUFreq()

//go:linkname initHWCap gvisor.dev/gvisor/pkg/cpuid.initHWCap
func initHWCap()

// readCPU has gVisor know the processor. It asks the processor some two hundred times at a sandbox's start, the same again and again, and on a virtual machine each time is
// a way to the hypervisor and back: 4 ms in all. Asked once each it is told the same, which TestCPU compares. Call it before gVisor's main.
func readCPU() {
	cpuOnce.Do(func() {
		cpuFeatures = cpuid.FeatureSet{Function: askOnce{}}.Fixed()
		readMaxCPUFreq()
		initHWCap()
	})
}

// askOnce is the processor, asked the same question once.
type askOnce map[cpuid.In]cpuid.Out

// stateInfo is the question for the kinds of extended state; its parts from 2 on are each about one kind.
const stateInfo = 0xd

// Query implements cpuid.Function.
func (a askOnce) Query(in cpuid.In) cpuid.Out {
	if out, known := a[in]; known {
		return out
	}
	if in.Eax == stateInfo && in.Ecx >= 2 && in.Ecx < 64 && a.kinds()&(1<<in.Ecx) == 0 {
		return cpuid.Out{} // what a processor says of a kind that it does not have
	}
	out := (&cpuid.Native{}).Query(in)
	a[in] = out
	return out
}

// kinds has a bit for each kind of extended state that the processor has, for users and for systems.
func (a askOnce) kinds() uint64 {
	user, system := a.Query(cpuid.In{Eax: stateInfo}), a.Query(cpuid.In{Eax: stateInfo, Ecx: 1})
	return uint64(user.Edx)<<32 | uint64(user.Eax) | uint64(system.Edx)<<32 | uint64(system.Ecx)
}

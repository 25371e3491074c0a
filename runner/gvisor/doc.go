// Package gvisor makes the runner's sandboxes with gVisor's own packages, in the runner process: it is the only one that knows them.
//
// gVisor's Go interfaces may change with every version; the version is pinned in go.mod, and what another one changes is
// changed here. A sandbox is made of this process's own binary, executed again with gVisor's arguments: a program that uses this package
// must be linked statically and give those to gVisor's own main, as cmd/runsc does.
package gvisor

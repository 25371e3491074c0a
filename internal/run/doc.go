// Package run holds runs: stretches of work with one snapshot of an agent's scripts and one computer, whose calls run one after
// another.
//
// Words here: a run and its states (run.go), its snapshot (snapshot.go), its generations (generation.go), the home in its computer
// (home.go). Use cases, a file each: Create, GenerationStart, Finish.
//
// # Who works
//
// A run's computer lives at one server: the run's owner. Owning is a lease in the run's row (owner, owner_token, owner_until): 15 s
// long, renewed every 5 s, and numbered: whatever an owner writes about a run or its calls is written only while the row still
// has its name and token, so an owner that was away too long can do no harm. A lease that ran out is cleared by any server (Sweep),
// and what it was running is lost.
//
// Each server has one Host. It keeps a worker for each run that it owns, as many at most as it may have computers. A worker takes what
// the database says is next, one thing at a time: a generation to start, a call to run (what a call is, package call says, through
// the interface Calls). It waits for a signal, never by asking again and again. Signals come from this process directly, from other
// servers over the bus, and, should one be lost, from the look that the Host takes at the database each second for all of its runs together.
//
// Runs for which a Host has no computer wait in its queue (queue.go); whose turn it is says a pure rule (turns.go).
//
// Runs stand below calls. What this package needs of them is the interface Calls, which they fulfil and the command joins.
package run

// Package call holds calls: one use of a tool each, from its acceptance to its answer.
//
// A call is a row that is QUEUED when it was accepted, in the transaction that checked that its run is open and its script there. The run's
// owner (package run) takes it from there. The files, in the order of a call's life:
//
//	call_accept.go    every rule in order; a call that a rule refuses is a row, too
//	arguments.go      what the script will read, out of what came
//	call_queue.go     where it stands while it waits for a computer
//	call_dispatch.go  the next call of a run is claimed and run on the run's computer
//	process.go        what the process gets: argv, environment, files, stdin
//	outcome.go        what came of it: the table of states
//	call_finish.go    the outcome becomes state and answer, in one transaction, if the run is still ours
//	evidence.go       what is kept of how it ran
//	answer.go         the text that the model reads
//	call_cancel.go    stopping one; a deleted script, a finished run
//	call_watch.go     callOutput: what it prints, and its end
//	call_sweep.go     what servers that died left behind
package call

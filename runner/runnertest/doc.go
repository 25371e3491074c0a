// Package runnertest holds what tests of computers need: [Fake], a [runner.Runner] in memory for packages that use
// computers, and [Suite], the one suite that the fake and the real runner both pass.
//
// A Fake never starts a process. Its programs are Go functions, or lines in the script's own source:
//
//	#fake: out TEXT      TEXT and a newline to standard output; err TEXT to standard error
//	#fake: stdin         standard input, to its end, to standard output
//	#fake: env NAME      the variable's value and a newline (`(unset)` without one); argv: one argument a line
//	#fake: cat PATH      a file of the computer, to standard output; write PATH TEXT makes one, as the script's user
//	#fake: repeat N TEXT TEXT and a newline, N times
//	#fake: wait NAME     until the test calls Release(NAME), or the call is killed
//	#fake: hang          until the call is killed
//	#fake: exit N        ends with exit code N; signal SIGKILL: dies of it
//	#fake: memory        outgrows the computer's memory; lost: the computer is lost
//
// Lines are done in order, those without `#fake:` are passed over, and the end is exit code 0. A source can so be
// real Python and mean the same in both.
package runnertest

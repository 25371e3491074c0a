// Bench measures computers from inside and a throw-away server from outside, in one run, and prints what it finds as ratios against something
// real that was measured in turns with it: the host's own python3 and node, bubblewrap, a bare `runsc run`, a pipe read by cat. Milliseconds differ
// from machine to machine and from hour to hour; ratios of one run do not. It fails past a bar, takes less than four minutes, and stops everything
// that it started.
//
//	make bench
package main

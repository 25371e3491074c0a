// Demo shows Scriptorium on real input: it starts a throw-away server, saves a program that reports on a few thousand orders, runs it in a gVisor computer,
// prints the output as it comes, checks the result against figures computed another way, and fails where a process, a mount or a file is left behind.
//
//	make demo
package main

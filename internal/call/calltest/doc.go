// Package calltest puts together what tests of runs and calls need: servers with everything from agents to calls, on a database and a
// bus of the test's own, whose computers are runnertest.Fake's.
package calltest

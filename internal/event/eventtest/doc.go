// Package eventtest holds what tests of delivery share: the suite that every bus passes, a Source in memory, and a Redis server
// of the tests' own.
package eventtest

// Package doctor finds out what a machine offers to computers, and says it in words: what it found, whether that is good, and what to do
// where it is not.
//
// What decides is a real computer: it is booted, and a program run in it. The rest (/proc, /sys, files) is read to say why there is none, or
// why it is less than it could be. Reading ([ReadMachine], [ReadManifest], [ReadFolder]) is apart from judging ([Judge]), which is a pure function.
package doctor

// Package lifecycle starts the parts of a server in order and stops them in reverse, each within a time of its own.
package lifecycle

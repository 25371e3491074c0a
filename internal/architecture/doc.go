// Package architecture holds the layout of the module to its rules: who may import whom, which file alone may use which library, and
// where processes are started. It has tests only.
package architecture

// Package logtest has a log for tests that look at what was logged.
package logtest

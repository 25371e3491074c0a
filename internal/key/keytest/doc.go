// Package keytest makes organizations and keys for the tests of other packages.
package keytest

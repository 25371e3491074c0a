// Package scripttest makes scripts for the tests of other packages, and the services that they need.
package scripttest

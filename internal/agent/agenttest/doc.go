// Package agenttest makes agents for the tests of other packages.
package agenttest

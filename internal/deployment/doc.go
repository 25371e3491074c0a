// Package deployment tells clients what this server is: its version, the limits in force, and what its computers are made of.
package deployment

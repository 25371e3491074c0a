// Package testservice starts the servers that tests need, PostgreSQL and Redis from the binaries that Debian and Ubuntu install, on a free
// port of loopback, with a password and data that are thrown away. It is for tests and tools only.
//
// Each server is watched over by a shell that waits on a pipe from this process: however this process ends, the pipe closes, and the
// shell stops the server and removes its folder. Nothing is left behind, and nothing else has to be told.
//
// The command internal/database/databasetest/cmd/testservices starts both once for many test programs:
//
//	go run ./internal/database/databasetest/cmd/testservices -- go test ./...
package testservice

#!/usr/bin/env bash
# All tests: Go's with the race detector, then real clients against a real server, first with SQLite and the bus inside the process, then
# with PostgreSQL and Redis. One throw-away PostgreSQL and one Redis serve all of them.
set -euo pipefail
cd "$(dirname "$0")/.."
CGO_ENABLED=0 go build -o bin/testservices ./internal/database/databasetest/cmd/testservices
exec bin/testservices -- bash -euo pipefail -c '
  CGO_ENABLED=1 go test -race -timeout 15m ./...
  e2e/run.sh
'

#!/usr/bin/env bash
# All tests: Go's with the race detector, then real clients against a real server, first with SQLite and the bus inside the process, then
# with PostgreSQL and Redis. One throw-away PostgreSQL and one Redis serve all of them. What passed on which of them is counted in the end.
set -euo pipefail
cd "$(dirname "$0")/.."
CGO_ENABLED=0 go build -o bin/testservices ./internal/database/databasetest/cmd/testservices
exec bin/testservices -- bash -euo pipefail -c '
  status=0
  CGO_ENABLED=1 go test -race -timeout 15m -v ./... > bin/test.log 2>&1 || status=$?
  CGO_ENABLED=0 go test -v ./runner/gvisor >> bin/test.log 2>&1 || status=$? # has a test that the race detector does not go with
  grep -E "^(ok|FAIL|panic:|# )" bin/test.log || true
  if [ $status != 0 ]; then
    # What failed, each with what it said last.
    grep -nE -B 12 "^ *--- FAIL|^panic:|DATA RACE|goleak" bin/test.log | cut -c1-300 | tail -n 300 || true
    echo "The whole output is in bin/test.log."
    exit $status
  fi
  count() { grep -cE "^ *--- PASS: [^ ]*/$1" bin/test.log || true; }
  echo "Go tests passed: $(grep -cE "^ *--- PASS" bin/test.log), of them on SQLite $(count sqlite3) and on PostgreSQL $(count postgres)"
  e2e/run.sh
'

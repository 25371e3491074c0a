#!/usr/bin/env bash
# Runs the end-to-end tests against bin/scriptorium: once on SQLite and the bus inside the process, once on PostgreSQL and Redis, and prints both counts.
# PostgreSQL and Redis are those of SCRIPTORIUM_E2E_DATABASE_URL (a role that may create databases) and SCRIPTORIUM_E2E_REDIS_URL; without them throw-away
# ones are started. Arguments choose test files: e2e/run.sh e2e/output.test.mjs
set -euo pipefail
cd "$(dirname "$0")/.."

for needed in node npm chromium; do
  command -v "$needed" >/dev/null || { echo "The end-to-end tests need $needed: run make needs." >&2; exit 1; }
done
for built in bin/scriptorium bin/runsc; do
  [ -x "$built" ] || { echo "$built is missing: run make build." >&2; exit 1; }
done

export SCRIPTORIUM_E2E_DATABASE_URL=${SCRIPTORIUM_E2E_DATABASE_URL:-${SCRIPTORIUM_TEST_POSTGRES_URL:-}}
export SCRIPTORIUM_E2E_REDIS_URL=${SCRIPTORIUM_E2E_REDIS_URL:-${SCRIPTORIUM_TEST_REDIS_URL:-}}
if [ -z "$SCRIPTORIUM_E2E_DATABASE_URL" ] || [ -z "$SCRIPTORIUM_E2E_REDIS_URL" ]; then
  CGO_ENABLED=0 go build -o bin/testservices ./internal/database/databasetest/cmd/testservices
  exec bin/testservices -- e2e/run.sh "$@"
fi

# The lock file is what counts: install where the installed packages are not its.
if ! cmp -s e2e/package-lock.json e2e/node_modules/.installed-lock.json; then
  npm --prefix e2e ci --no-audit --no-fund --loglevel=error
  cp e2e/package-lock.json e2e/node_modules/.installed-lock.json
fi

if [ $# -gt 0 ]; then files=("$@"); else files=(e2e/*.test.mjs); fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
counts=()
status=0

pass() { # name, then what to run it with
  local name=$1
  shift
  echo "== End to end on $name"
  "$@" node --test --test-reporter=spec "${files[@]}" 2>&1 | tee "$log" || status=1
  local tests passed failed
  tests=$(sed -nE 's/^ℹ tests ([0-9]+)$/\1/p' "$log" | tail -1)
  passed=$(sed -nE 's/^ℹ pass ([0-9]+)$/\1/p' "$log" | tail -1)
  failed=$(sed -nE 's/^ℹ fail ([0-9]+)$/\1/p' "$log" | tail -1)
  counts+=("end to end on $name: ${tests:-0} tests, ${passed:-0} passed, ${failed:-0} failed")
  # Nothing is skipped: what did not pass, failed.
  if [ -z "$tests" ] || [ "$tests" = 0 ] || [ "$tests" != "$passed" ]; then status=1; fi
}

pass "SQLite and the bus inside the process" env -u SCRIPTORIUM_E2E_DATABASE_URL -u SCRIPTORIUM_E2E_REDIS_URL
pass "PostgreSQL and Redis" env
printf '%s\n' "${counts[@]}"
exit $status

#!/usr/bin/env bash
# Runs every fuzz test for the given time.
set -euo pipefail
time=${1:-20s}
grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r dir; do
  grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | cut -d' ' -f2 | while read -r name; do
    echo "== $dir $name"
    go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$dir"
  done
done

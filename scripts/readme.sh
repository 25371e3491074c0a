#!/usr/bin/env bash
# Does what the README says in a clone of this commit, as a new user: with an empty home and nothing in any cache. Arguments go to
# e2e/readme: -skip "make test" leaves that command out.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
git clone -q . "$work/scriptorium"
mkdir "$work/home"
cd "$work/scriptorium"
env -u GOFLAGS -u GOPATH -u GOMODCACHE -u GOCACHE -u CGO_ENABLED HOME="$work/home" PATH="$PATH" go run ./e2e/readme "$@"

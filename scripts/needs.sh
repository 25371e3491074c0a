#!/usr/bin/env bash
# Installs what the tests need and this machine lacks, from Debian's packages. Needs root where something is missing.
set -euo pipefail
want=()
need() { # command package…
  command -v "$1" >/dev/null 2>&1 || want+=("${@:2}")
}
need python3 python3
need gcc gcc libc6-dev
need redis-server redis-server
need node nodejs
need npm npm
need chromium chromium
need bwrap bubblewrap # what make bench compares with
need mkfs.erofs erofs-utils
compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || want+=(postgresql)
[ ${#want[@]} -eq 0 ] && exit 0
if [ "$(id -u)" != 0 ]; then
  echo "The tests need these packages: ${want[*]}. Install them, or run make needs as root." >&2
  exit 1
fi
echo "Installing ${want[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq install -y --no-install-recommends "${want[@]}" >/dev/null

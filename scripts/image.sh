#!/usr/bin/env bash
# Builds the image that computers start from: bin/computer.erofs and its manifest bin/computer.json, from the packages
# of this machine's own release, as its apt is set up. Nothing of what this machine has installed or configured gets in,
# and no package's own scripts run. With nothing changed since the last time it does nothing.
#   scripts/image.sh            fails where the image cannot be built
#   scripts/image.sh --soft     says so and succeeds: computers then use this machine's /usr, read-only
#   scripts/image.sh --update   builds even so: packages may have newer versions
# IMAGE_PACKAGES="python3-numpy …" adds packages; without it those of the last image stay. docs/operating.md has more.
set -euo pipefail
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly repository=$PWD bin=$PWD/bin mode=${1:-}
# Declared as installed, so that they are not fetched: only packages' own scripts and terminals use them, and they bring Perl along.
readonly assumed='debconf dpkg mailcap mime-support readline-common'

fail() {
  echo "The computers' image was not built: $*." >&2
  exit 1
}

# What the operator adds: said now, or else when the image was last built.
added() {
  local name names
  if [ -n "${IMAGE_PACKAGES+set}" ]; then
    read -ra names <<<"$IMAGE_PACKAGES"
  else
    read -ra names < <(sed -n 's/^ *"added": "\(.*\)",\?$/\1/p' "$bin"/computer.json 2>/dev/null) || true
  fi
  for name in "${names[@]}"; do
    [[ $name =~ ^[a-z0-9][a-z0-9+.-]+$ ]] || fail "IMAGE_PACKAGES: $name is not the name of a package"
  done
  echo "${names[*]}"
}

# Everything that decides what is built, but for what the archive of packages holds today.
inputs() {
  {
    sha256sum scripts/image.sh image/packages.txt image/manifest.py runner/streams.py
    printf '%s\n' "$added" "$(uname -m)"
    grep -E '^(ID|VERSION_ID|VERSION_CODENAME)=' /etc/os-release || true
  } | sha256sum | cut -d' ' -f1
}

# As built with these inputs, and whole.
built() {
  [ "$mode" != --update ] || return 1
  [ -f "$bin"/computer.erofs ] && [ -f "$bin"/computer.json ] || return 1
  grep -qF "\"inputs\": \"sha256:$(inputs)\"" "$bin"/computer.json &&
    grep -qE "\"size\": $(stat -c %s "$bin"/computer.erofs)\b" "$bin"/computer.json
}

# The tools that take packages apart and write the image. Installed where they are missing and may be.
tools() {
  local missing=()
  command -v mkfs.erofs >/dev/null || missing+=(erofs-utils)
  command -v flock >/dev/null || missing+=(util-linux)
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || fail "the image is made of Debian's or Ubuntu's packages, and this machine has no apt"
  if [ ${#missing[@]} -gt 0 ]; then
    [ "$(id -u)" = 0 ] || fail "building the image needs ${missing[*]}: install it, or run make image as root"
    echo "Installing ${missing[*]}, which the computers' image is built with"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get -qq update && apt-get -qq install -y --no-install-recommends "${missing[@]}"; } >/dev/null || fail "${missing[*]} could not be installed"
  fi
}

# An apt that knows this machine's sources, keys, proxies and pins, and nothing of what is installed: its state is in $work.
private_apt() {
  local name
  mkdir -p "$work"/state/lists/partial "$work"/cache/archives/partial
  for name in $assumed; do
    [[ " $added " == *" $name "* ]] || printf 'Package: %s\nStatus: install ok installed\nArchitecture: all\nVersion: 99\nMaintainer: none\nDescription: assumed\n\n' "$name"
  done >"$work/status"
  cat >"$work/apt.conf" <<CONF
#clear APT::Update;
#clear APT::Architectures;
APT::Architectures { "$(dpkg --print-architecture)"; };
APT::Sandbox::User "$(id -un)";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Get::Never-Include-Phased-Updates "true";
APT::Get::Assume-Yes "true";
Acquire::Languages "none";
Acquire::Retries "3";
Dir::State "$work/state";
Dir::State::lists "lists/";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
Dir::Cache::archives "archives/";
Dir::Cache::pkgcache "pkgcache.bin";
CONF
}

# The names to ask for: those of the list, less the optional ones that this release lacks, and what the operator adds.
choose() { # the release's names, one a line
  local mark name
  while read -r mark name; do
    case $mark in
    '' | '#'*) ;;
    '?') if grep -qxF -- "$name" "$1"; then echo "$name"; else echo "$name" >>"$work/left_out"; fi ;;
    *) echo "$mark" ;;
    esac
  done <image/packages.txt
  [ -z "$added" ] || printf '%s\n' $added
}

fetch() {
  local apt=(-qq -c "$work/apt.conf")
  private_apt
  # One source of several that does not answer need not matter: what cannot be had without it is missed below.
  apt-get "${apt[@]}" update >"$work/log" 2>&1 || cat "$work/log" >&2
  apt-cache "${apt[@]}" pkgnames >"$work/names"
  : >"$work/left_out"
  choose "$work/names" >"$work/wanted"
  xargs -a "$work/wanted" apt-get "${apt[@]}" --download-only install >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; fail "apt did not find or fetch the packages"; }
}

# Files go where merged /usr has them, whichever of both places a package names.
unpack() {
  local d deb
  for d in bin sbin lib lib64; do
    mkdir -p "$root/usr/$d"
    ln -s "usr/$d" "$root/$d"
  done
  mkdir -p "$root/var/lib/dpkg"
  for deb in "$work"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink --no-same-owner --no-same-permissions
    { dpkg-deb --field "$deb"; printf 'Status: install ok unpacked\n\n'; } >>"$root/var/lib/dpkg/status"
  done
  for d in bin sbin lib lib64; do
    [ -L "$root/$d" ] || fail "a package replaced /$d"
    rmdir "$root/usr/$d" 2>/dev/null && rm "$root/$d"
  done
  return 0
}

# What packages' scripts would have set up, as far as programs need it; and the places where the computer mounts.
configure() {
  local d f python
  cd "$root"
  mkdir -p proc dev sys tmp home workspace scripts etc .scriptorium root run var/tmp
  printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' 'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin' 'script:x:1000:1000:script:/home:/bin/sh' >etc/passwd
  printf '%s\n' 'root:x:0:' 'tty:x:5:' 'nogroup:x:65534:' 'script:x:1000:' >etc/group
  printf '%s: files\n' passwd group hosts services protocols >etc/nsswitch.conf
  printf '127.0.0.1 localhost\n::1 localhost\n127.0.1.1 computer\n' >etc/hosts
  echo computer >etc/hostname
  : >etc/resolv.conf
  echo Etc/UTC >etc/timezone
  ln -sf /usr/share/zoneinfo/Etc/UTC etc/localtime
  [ -e usr/bin/awk ] || ln -s mawk usr/bin/awk
  [ -e usr/bin/which ] || [ ! -e usr/bin/which.debianutils ] || ln -s which.debianutils usr/bin/which
  [ -e usr/bin/node ] || ln -s nodejs usr/bin/node
  if compgen -G 'usr/share/ca-certificates/*/*.crt' >/dev/null; then
    mkdir -p etc/ssl/certs
    cat usr/share/ca-certificates/*/*.crt >etc/ssl/certs/ca-certificates.crt
  fi
  # Linear algebra is chosen among several by an alternative that is not set here: the loader finds it where it lies.
  for d in usr/lib/*/{openblas-*,blas,lapack}; do
    [ -d "$d" ] && echo "/$d" >>etc/ld.so.conf.d/zz-linear-algebra.conf
  done
  for f in usr/bin/python3.*; do
    python=${f##*/}
    [[ $python =~ ^python3\.[0-9]+$ ]] || continue
    mkdir -p "etc/$python"
    rm -f "etc/$python/sitecustomize.py"
    install -m 444 "$repository/runner/streams.py" "etc/$python/sitecustomize.py"
    ln -sf "/etc/$python/sitecustomize.py" "usr/lib/$python/sitecustomize.py"
  done
  # Python's files are read from outside below, where an absolute link would lead to this machine's.
  find usr/lib/python3* -type l -lname '/*' | while read -r f; do
    ln -sfn "$(realpath -ms --relative-to="$(dirname "$f")" ".$(readlink "$f")")" "$f"
  done
  cd "$repository"
}

# What no program in a computer uses, or may.
prune() {
  cd "$root"
  rm -rf usr/share/{doc,doc-base,man,info,lintian,bug,locale,common-licenses,bash-completion,zsh,fish,menu,pixmaps,icons,applications,gcc,gdb} \
    usr/share/zoneinfo/{right,posix} usr/share/nodejs/{@types,undici-types,undici/types} \
    usr/lib/python3*/{test,idlelib,ensurepip,turtledemo,lib2to3/tests} usr/lib/{debug,systemd,init} usr/include var/{cache,log,backups,lib/apt} \
    etc/{apt,cron.daily,cron.d,default,init.d,logrotate.d,update-motd.d,profile.d,skel,systemd,fstab} boot media mnt srv ./*.usr-is-merged
  find . ! -type f ! -type d ! -type l -delete
  find . ! -type l -perm /7000 -exec chmod a-s,-t {} +
  find . ! -type l -exec chmod u+rwX,go+rX,go-w {} +
  chmod 1777 tmp var/tmp
  cd "$repository"
}

# Runs a program of the image by the image's own loader and libraries: it needs no privilege, and nothing of this machine's.
inside() { # program arguments…
  local loader libraries
  libraries=$(dirname "$(find "$root/usr/lib" -maxdepth 2 -name libc.so.6 -print -quit)")
  loader=$(find "$libraries" -maxdepth 1 -type f -name 'ld*.so.?' -print -quit)
  env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 PYTHONHASHSEED=0 PYTHONNOUSERSITE=1 PYTHONHOME="$root/usr" \
    "$loader" --inhibit-cache --library-path "$libraries" "$root/usr/bin/$(readlink "$root/usr/bin/$1" || echo "$1")" "${@:2}"
}

# Compiled ahead: computers' files cannot be written, so no interpreter could keep what it compiled. The image does not change,
# so what was compiled need not be compared with its source either.
compile() {
  local lib
  for lib in "$root"/usr/lib/python3*; do
    inside python3 -S -B -m compileall -q -f -s "$root" -p / --invalidation-mode unchecked-hash "$lib" >>"$work/log" 2>&1 || true
    find "$lib" -name '*.pyc' -print -quit | grep -q . || { cat "$work/log" >&2; fail "the interpreter of the image could not compile $lib"; }
  done
}

build() {
  fetch
  unpack
  configure
  prune
  compile
  ldconfig -r "$root" 2>>"$work/log"
  rm -rf "$root/var/cache"
  mkfs.erofs -x-1 -Enoinline_data -T1 -U 5c0a1a7e-0000-4000-8000-000000000001 --all-root "$work/computer.erofs" "$root" >>"$work/log" 2>&1 ||
    { tail "$work/log" >&2; fail "mkfs.erofs failed, which must be of erofs-utils 1.4 or newer"; }
  digest=$(sha256sum <"$work/computer.erofs")
  digest=sha256:${digest%% *}
  inside python3 -S -B image/manifest.py "$root" "$digest" "$(stat -c %s "$work/computer.erofs")" "sha256:$(inputs)" "$added" "$work/left_out" \
    "$(inside node --version)" >"$work/computer.json"
}

main() {
  local work root digest added
  added=$(added)
  built && return 0
  tools
  mkdir -p "$bin"
  exec 9>"$bin/.image.lock"
  flock --nonblock 9 || { echo "Another build of the computers' image is under way: waiting for it"; flock 9; }
  built && return 0 # by who held the lock
  rm -rf "$bin"/.image-*
  umask 022
  work=$(mktemp -d "$bin/.image-XXXXXX")
  trap 'rm -rf "$bin"/.image-*' EXIT
  root=$work/root
  mkdir "$root"
  echo "Building the computers' image of this release's packages"
  build
  # Between these an interruption leaves an image without its manifest, which counts as none.
  rm -f "$bin/computer.json"
  mv "$work/computer.erofs" "$bin/computer.erofs"
  mv "$work/computer.json" "$bin/computer.json"
  echo "Built bin/computer.erofs, $(($(stat -c %s "$bin/computer.erofs") >> 20)) MiB, $digest"
  [ ! -s "$work/left_out" ] || echo "Left out, for this release lacks them: $(tr '\n' ' ' <"$work/left_out")"
}

if [ "$mode" = --soft ]; then
  # As a process of its own: within a condition bash would go on after an error.
  scripts/image.sh || {
    if [ -f "$bin/computer.json" ]; then
      echo "Computers go on with the image that was built before." >&2
    else
      echo "Computers will use this machine's own /usr, read-only, for want of an image of their own; the lines above say why." >&2
    fi
  }
else
  main
fi

#!/bin/sh
# One file: `spate` names no loader and no shared object, and runs in a root that holds nothing but itself, without environment.
# With OLD_ROOT=folder it also runs in that root, e.g. an older Debian (tools/check --full makes one).
set -eu

[ -z "${SPATE_SANITIZE:-}" ] || { echo "skipped: sanitizers cannot be linked static"; exit 77; }
spate=${SPATE_BIN:?}/spate
version=$(head -n 1 "${SPATE_SOURCE:?}/VERSION")
work=$(mktemp -d "${TMPDIR:-/tmp}/spate-static.XXXXXX")
trap 'rm -rf "$work"' EXIT
out=$work/out
PATH=$PATH:/usr/sbin  # chroot is not in every user's path

fail() {
  echo "FAILED: $*"
  cat "$out" 2>/dev/null || :
  exit 1
}

LC_ALL=C readelf -lW "$spate" > "$out"
if grep -q -e INTERP -e DYNAMIC "$out"; then fail "the program wants a loader"; fi
rm "$out"

# Runs a command inside a root, without environment; as an ordinary user in a user namespace of its own. The null device, which
# tasks get as standard input, is the only thing that is lent.
in_root() {
  root=$1
  shift
  unshare -rm sh -c 'mount --bind /dev/null "$0/dev/null" && exec env -i "$(command -v chroot)" "$0" "$@"' "$root" "$@"
}

try_root() {  # folder, name
  mkdir -p "$1/dev" "$1/tmp"
  [ -e "$1/dev/null" ] || : > "$1/dev/null"
  cp "$spate" "$1/spate"
  in_root "$1" /spate --version > "$out" 2>&1 || fail "$2: spate --version exits $?"
  grep -qF "$version" "$out" || fail "$2: spate --version does not say $version"
  in_root "$1" /spate run --state /tmp/spate-state -- /spate --version > "$out" 2>"$work/err" || {
    cat "$work/err"
    fail "$2: spate run exits $?"
  }
  grep -qF "$version" "$out" || fail "$2: the task's output is not there"
  rm -rf "$1/spate" "$1/tmp/spate-state"
}

unshare -rm true 2>/dev/null || { echo "skipped: no user namespaces here; the program is static"; exit 77; }
mkdir "$work/empty"
try_root "$work/empty" "an empty root"
echo "static_test: runs in an empty root"
if [ -n "${OLD_ROOT:-}" ]; then
  try_root "$OLD_ROOT" "$OLD_ROOT"
  echo "static_test: runs in $OLD_ROOT"
fi

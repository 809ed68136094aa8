#!/bin/sh
# The release files of `make dist`: the same bytes twice, nobody's owner and clock, and each of them alone is enough: in a root that
# holds nothing else, spate runs tasks, under its own name and Parasol's.
set -eu

[ -z "${SPATE_SANITIZE:-}" ] || { echo "skipped: sanitizers cannot be linked static"; exit 77; }
build=$(dirname "${SPATE_BIN:?}")
version=$(head -n 1 "${SPATE_SOURCE:?}/VERSION")
work=$(mktemp -d "${TMPDIR:-/tmp}/spate-dist-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
export SOURCE_DATE_EPOCH=1700000000
PATH=$PATH:/usr/sbin:/sbin  # dpkg wants them, and chroot and useradd are not in every user's path
failures=0

fail() {
  echo "FAILED: $*"
  failures=1
}

make_files() {  # folder, umask
  (umask "$2" && "$SPATE_SOURCE/tools/dist" "$build" "$work/$1" > "$work/log" 2>&1) || { cat "$work/log"; exit 1; }
}

# Runs a command inside a root without environment, as root of a user namespace. The null device is lent.
in_root() {
  root=$1
  shift
  mkdir -p "$root/dev" "$root/tmp"
  : > "$root/dev/null"
  unshare -rm sh -c 'mount --bind /dev/null "$0/dev/null" && exec env -i "$(command -v chroot)" "$0" "$@"' "$root" "$@"
}

runs_tasks() {  # root, folder of the programs in it
  in_root "$1" "$2/spate" --version > "$work/out" 2>&1 || fail "$1: spate --version exits $?"
  grep -qF "$version" "$work/out" || fail "$1: spate --version does not say $version"
  in_root "$1" "$2/spate" run --state /tmp/state -- "$2/paraTestJob" {} ::: 1 2 3 > "$work/out" 2> "$work/err" ||
    { cat "$work/err"; fail "$1: spate run exits $?"; }
  [ "$(grep -c '^Cumulative error' "$work/out")" = 3 ] || { cat "$work/out"; fail "$1: not three tasks ran"; }
}

test_same_bytes_twice() {
  make_files first 022
  tarball=$(echo "$work/first"/spate-*.tar.gz)
  deb=$(echo "$work/first"/spate_*.deb)
  make_files second 077
  cmp "$work/first/SHA256SUMS" "$work/second/SHA256SUMS" || fail "two makings differ"
  (cd "$work/first" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS is wrong"
  LC_ALL=C TZ=UTC tar tvf "$tarball" > "$work/list"
  if grep -v ' 0/0 .* 2023-11-14 22:13 ' "$work/list"; then fail "the tarball tells who made it, or when"; fi
}

# Programs that were built in two folders differ only in debug information, which the release does not have.
test_no_trace_of_the_folder() {
  mkdir "$work/files"
  tar -C "$work/files" -xf "$tarball"
  for program in "$work"/files/*/bin/*; do
    if [ ! -L "$program" ] && LC_ALL=C readelf -SW "$program" | grep -F .gnu_debuglink; then fail "$program has a sum of its debug file"; fi
  done
  if grep -rlF "$SPATE_SOURCE" "$work/files"; then fail "files name the folder of the sources"; fi
}

test_versions_are_listed() {
  command -v dpkg-query > /dev/null || return 0
  versions=$(echo "$work"/files/*/share/doc/spate/notices)/VERSIONS
  for package in libc6 libsqlite3-0 libssl3 libstdc++6 libfmt-dev; do
    grep -qx "$package $(dpkg-query -W -f '${Version}' $package)" "$versions" || fail "the version of $package is not listed"
  done
}

test_what_is_inside() {
  library=
  [ ! -e "$build/lib/libspate_mw.a" ] || library="include/spate/mw.h lib/libspate_mw.a lib/pkgconfig/spate-mw.pc"
  for file in $library bin/spate bin/para share/man/man1/spate-run.1 share/bash-completion/completions/spate share/doc/spate/LICENSE \
      share/doc/spate/README.md share/doc/spate/docs/user/guide.md share/doc/spate/examples/first-run/run \
      lib/systemd/system/spate-hub.service lib/systemd/system/spate-node.service lib/systemd/system/spate-node@.service lib/systemd/system/spate-node-tasks.service; do
    grep -q " spate-$version-[^ ]*/$file\( ->.*\)\?\$" "$work/list" || fail "the tarball has no $file"
  done
  if grep -e bin/pegasus-mpi -e bin/spate-pmix "$work/list"; then fail "the tarball has programs of this machine's libraries"; fi
}

test_the_commit_is_named() {
  commit=$(git -C "$SPATE_SOURCE" rev-parse --short=12 HEAD 2> /dev/null) || return 0
  "$SPATE_BIN/spate" --version | grep -q "^spate $version+$commit" || fail "spate --version does not name $commit"
}

# 30 of systemd's scale is 3.0 of 10. spate-node runs the tasks of all users, with all rights that they have (see there).
test_units_have_few_rights() {
  command -v systemd-analyze > /dev/null || return 0
  for unit in spate-hub spate-node@; do
    systemd-analyze security --offline=true --threshold=30 --no-pager "$work"/files/*/lib/systemd/system/$unit.service > "$work/log" 2>&1 ||
      { tail -1 "$work/log"; fail "$unit.service has more rights than it needs"; }
  done
}

test_tarball_in_an_empty_root() {
  mkdir "$work/empty"
  tar -C "$work/empty" -xf "$tarball"
  if grep -qF "$SPATE_SOURCE" "$work"/empty/*/bin/spate; then fail "the program names its sources' folder"; fi
  runs_tasks "$work/empty" "/$(basename "$tarball" .tar.gz)/bin"
}

# Its scripts run outside the root, with DPKG_ROOT, as there is no shell in it.
dpkg_in() {  # root, words for dpkg
  root=$1
  shift
  unshare -rm dpkg --root="$root" --log=/dev/null --force-script-chrootless --force-depends "$@" > "$work/log" 2>&1 ||
    { cat "$work/log"; fail "dpkg $1 failed"; }
}

test_deb_in_an_empty_root() {
  root=$work/debian
  mkdir -p "$root/etc" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
  touch "$root/etc/passwd" "$root/etc/group" "$root/var/lib/dpkg/status"
  dpkg_in "$root" -i "$deb"
  runs_tasks "$root" /usr/bin
  grep -q '^spate:.*:/var/lib/spate:' "$root/etc/passwd" || fail "the hub's user was not made"
  dpkg_in "$root" -i "$deb"
  [ "$(grep -c '^spate:' "$root/etc/passwd")" = 1 ] || fail "installed twice, the hub's user is not there once"
  (cd "$root" && md5sum --quiet -c var/lib/dpkg/info/spate.md5sums) || fail "md5sums are wrong"
  dpkg-deb -c "$deb" > "$work/list"
  if grep ' \./etc/' "$work/list"; then fail "files in /etc want a list of conffiles"; fi
  for file in share/doc/spate/copyright share/doc/spate/notices/libssl3 share/doc/spate/changelog.Debian.gz \
      share/man/man1/spate-run.1.gz share/zsh/vendor-completions/_spate; do
    [ -s "$root/usr/$file" ] || fail "the package has no $file"
  done
  [ ! -e "$root/usr/include" ] || fail "headers are in the package of the program"
  if [ -n "$library" ]; then
    dpkg-deb -c "$work/first"/libspate-mw-dev_*.deb > "$work/list"
    grep -q ' ./usr/include/spate/mw.h$' "$work/list" || fail "the library's package has no mw.h"
  fi
  mkdir -p "$root/var/lib/spate/hub" "$root/var/lib/spate-node" "$root/var/lib/spate-nodes"
  dpkg_in "$root" -r spate
  [ -d "$root/var/lib/spate/hub" ] || fail "removed, it takes the jobs along"
  [ -z "$(find "$root/usr" -type f 2>/dev/null)" ] || fail "removed, it leaves files"
  dpkg_in "$root" -P spate
  [ ! -e "$root/var/lib/spate" ] && [ ! -e "$root/var/lib/spate-node" ] && [ ! -e "$root/var/lib/spate-nodes" ] || fail "purged, it leaves folders"
  if grep -q '^spate:' "$root/etc/passwd"; then fail "purged, it leaves the hub's user"; fi
}

test_same_bytes_twice
test_no_trace_of_the_folder
test_versions_are_listed
test_what_is_inside
test_the_commit_is_named
test_units_have_few_rights
unshare -rm true 2>/dev/null || { echo "skipped: no user namespaces here; the files are sound"; exit $((failures ? 1 : 77)); }
test_tarball_in_an_empty_root
if [ -e "$deb" ]; then test_deb_in_an_empty_root; fi
exit $failures

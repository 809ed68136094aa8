#!/bin/sh
# tools/setup against a made-up system: dpkg-query, apt-get, sudo and id are small scripts in a folder that is the whole PATH.
# The system's state is files: `installed` (packages), `known` (what apt has heard of), `mirror` (what an update would teach it),
# `calls` (every command which could change something).
set -eu

source_root=${SPATE_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d "${TMPDIR:-/tmp}/spate-setup-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0

make_system() {  # a fresh made-up system, ours alone
  rm -rf "$work/system"
  mkdir -p "$work/system/bin" "$work/system/tools" "$work/system/tmp"
  cd "$work/system"
  cp "$source_root/tools/setup" tools/setup
  printf '# a comment\n[build]\ng++\ncmake\nlibfoo-dev\n\n[test]\ncmake\nparallel\n' > tools/packages.txt
  for tool in sh awk grep mktemp rm cp tail cat env wc dirname tr sed; do
    ln -s "$(command -v $tool)" bin/$tool
  done
  printf 'g++\n' > installed
  printf 'g++\ncmake\nlibfoo-dev\nparallel\n' > known
  cp known mirror
  : > calls
  echo 0 > uid
  cat > bin/id <<'EOF'
#!/bin/sh
cat "$SYSTEM/uid"
EOF
  cat > bin/dpkg-query <<'EOF'
#!/bin/sh
# dpkg-query -W -f FORMAT PACKAGE...
shift 3
status=0
for p in "$@"; do
  if grep -qxF "$p" "$SYSTEM/installed"; then echo "$p ii "
  elif grep -qxF "$p" "$SYSTEM/removed" 2>/dev/null; then echo "$p rc "
  else echo "dpkg-query: no packages found matching $p" >&2; status=1; fi
done
exit $status
EOF
  cat > bin/apt-get <<'EOF'
#!/bin/sh
line="apt-get $*"
simulate=no; no_remove=no; verb=; packages=
while [ $# -gt 0 ]; do
  case $1 in
    -s) simulate=yes ;;
    --no-remove) no_remove=yes ;;
    -o) shift ;;
    -*) ;;
    install|update) verb=$1 ;;
    *) packages="$packages $1" ;;
  esac
  shift
done
[ $simulate = yes ] || echo "$line" >> "$SYSTEM/calls"
if [ $verb = update ]; then
  [ ! -e "$SYSTEM/offline" ] || { echo "E: Could not resolve the mirror"; exit 100; }
  cp "$SYSTEM/mirror" "$SYSTEM/known"; rm -f "$SYSTEM/stale"; exit 0
fi
for p in $packages; do
  grep -qxF "$p" "$SYSTEM/known" || { echo "E: Unable to locate package $p"; exit 100; }
done
if [ -e "$SYSTEM/conflict" ]; then
  [ $no_remove = no ] || { echo "E: Packages need to be removed but remove is disabled."; exit 100; }
  echo "Remv $(cat "$SYSTEM/conflict") [1.0]"
fi
[ $simulate = no ] || exit 0
[ ! -e "$SYSTEM/stale" ] || { echo "E: Failed to fetch libfoo 404  Not Found"; exit 100; }
[ $no_remove = yes ] || { echo "WITHOUT --no-remove" >> "$SYSTEM/calls"; exit 1; }
for p in $packages; do echo "$p" >> "$SYSTEM/installed"; done
EOF
  cat > bin/sudo <<'EOF'
#!/bin/sh
if [ "$1" = -n ]; then [ ! -e "$SYSTEM/password" ]; exit; fi
echo "sudo $1 ..." >> "$SYSTEM/calls"
exec "$@"
EOF
  chmod +x bin/id bin/dpkg-query bin/apt-get bin/sudo
}

setup() {  # runs it with this system only; sets status, out
  status=0
  out=$(SYSTEM="$PWD" TMPDIR="$PWD/tmp" PATH="$PWD/bin" bin/sh tools/setup "$@" 2>&1 </dev/null) || status=$?
  leftovers=$(ls tmp)
  [ -z "$leftovers" ] || bad "leftover processes: $leftovers"
}

bad() {
  failures=$((failures + 1))
  echo "FAILED: $name: $*"
  printf '%s\n' "--- output ($status)" "$out" "--- calls" "$(cat calls)"
}
expect_status() { [ "$status" = "$1" ] || bad "exit status $status, not $1"; }
expect_says() { case $out in *"$1"*) ;; *) bad "does not say: $1" ;; esac; }
expect_calls() { [ "$(grep -c . calls || :)" = "$1" ] || bad "not $1 calls"; }
expect_installed() { [ "$(sort installed | tr '\n' ' ')" = "$1 " ] || bad "installed: $(tr '\n' ' ' < installed)"; }

name="root installs only what is missing"
make_system
setup build
expect_status 0
expect_calls 1
expect_installed "cmake g++ libfoo-dev"
expect_says "installing 2 of 3 packages for 'build': cmake libfoo-dev"
grep -q -- '--no-remove --no-install-recommends -y' calls || bad "apt-get without its safety options"
grep -q 'g++' calls && bad "asked apt-get for an installed package"

name="a second run changes nothing and says so in one line"
setup build
expect_status 0
expect_calls 1
[ "$out" = "setup: nothing to install, all 3 packages for 'build' are here" ] || bad "other words"

name="sections add up, a package of two is asked for once"
setup build test
expect_status 0
expect_installed "cmake g++ libfoo-dev parallel"
expect_says "installing 1 of 4"

name="a package that was removed but not purged is missing"
make_system
printf 'g++\nlibfoo-dev\n' > installed
printf 'cmake\n' > removed
setup build
expect_status 0
expect_installed "cmake g++ libfoo-dev"

name="a machine where apt-get update never ran"
make_system
: > known
setup build
expect_status 0
expect_calls 2
expect_installed "cmake g++ libfoo-dev"
expect_says "fetching the package lists"

name="lists older than the mirror: one update, then again"
make_system
: > stale
setup build
expect_status 0
expect_calls 3
expect_installed "cmake g++ libfoo-dev"

name="no lists and no network"
make_system
: > known
: > offline
setup build
expect_status 3
expect_installed "g++"
expect_says "nothing was changed"
expect_says "Could not resolve the mirror"

name="a package that this system does not have"
make_system
grep -v libfoo known > mirror
cp mirror known
setup build
expect_status 3
expect_installed "g++"
expect_says "Unable to locate package libfoo-dev"
expect_says "needed for 'build': cmake libfoo-dev"

name="apt would remove something"
make_system
echo precious > conflict
setup build
expect_status 3
expect_calls 0
expect_says "nothing was changed: apt would have to remove"
expect_says "precious"
expect_says "cmake libfoo-dev"

name="a user with sudo"
make_system
echo 1000 > uid
setup build
expect_status 0
expect_installed "cmake g++ libfoo-dev"
[ "$(sed -n 1p calls)" = "sudo env ..." ] || bad "not through sudo"

name="a user whose sudo wants a password, without a terminal"
make_system
echo 1000 > uid
: > password
setup build
expect_status 3
expect_calls 0
expect_says "sudo asks for a password"

name="a user without sudo"
make_system
echo 1000 > uid
rm bin/sudo
setup build
expect_status 3
expect_calls 0
expect_says "apt-get install --no-remove --no-install-recommends cmake libfoo-dev"

name="a user without sudo who has it all"
make_system
echo 1000 > uid
rm bin/sudo
printf 'g++\ncmake\nlibfoo-dev\n' > installed
setup build
expect_status 0

name="not a Debian"
make_system
rm bin/apt-get bin/dpkg-query
setup build
expect_status 3
expect_calls 0
expect_says "no apt-get"
expect_says "g++ cmake libfoo-dev"

name="an unknown section"
make_system
setup biuld
expect_status 2
expect_calls 0

name="the real list names a package once per section, and every section"
status=0 out=
for section in build test check full bench; do
  list=$("$source_root/tools/setup" --list $section)
  [ -n "$list" ] || bad "section $section is empty"
  [ -z "$(printf '%s\n' "$list" | sort | uniq -d)" ] || bad "doubles in $section"
done

if [ $failures -gt 0 ]; then
  echo "$failures failures"
  exit 1
fi
echo "setup: all cases passed"

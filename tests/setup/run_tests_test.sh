#!/bin/sh
# tools/run-tests on a made-up build folder: its last line counts and names what was skipped, and its
# status is that of ctest.
set -eu
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

# test NAME COMMAND: adds a test, in the form that CMake writes.
add() {
  printf 'add_test(%s "sh" "-c" "%s")\nset_tests_properties(%s PROPERTIES SKIP_RETURN_CODE "77")\n' \
    "$1" "$2" "$1" >> "$here/CTestTestfile.cmake"
}
# expect STATUS LAST-LINE
expect() {
  status=0
  "$SPATE_SOURCE/tools/run-tests" "$here" > "$here/out" 2>&1 || status=$?
  last=$(tail -n 1 "$here/out")
  [ "$status" = "$1" ] && [ "$last" = "$2" ] && [ "$(tail -n 1 "$here/tests.log")" = "$2" ] || {
    cat "$here/out"
    echo "expected status $1 and: $2"
    exit 1
  }
}

add plain 'echo [skipped: no]'
expect 0 '100% tests passed, 0 tests failed out of 1; skipped none'
add whole 'echo skipped: no MPI here; exit 77'
expect 0 '100% tests passed, 0 tests failed out of 2; skipped 1 test: whole'
add google "echo '[  SKIPPED ] 2 tests.'"
add unittest "echo 'OK (skipped=3)'"
add script "echo '       (skipped: one cpu)'"
add other 'exit 77'
expect 0 '100% tests passed, 0 tests failed out of 6; skipped 2 tests: other, whole; skipped 6 cases in: google (2), script (1), unittest (3)'
add crowded "test -e $here/crowded || { touch $here/crowded; exit 1; }"
expect 0 '100% tests passed, 0 tests failed out of 7; passed only at the second time, alone: crowded; skipped 2 tests: other, whole; skipped 6 cases in: google (2), script (1), unittest (3)'
grep -q 'Once more, with nothing beside: crowded' "$here/tests.log"
add broken 'exit 1'
expect 8 '88% tests passed, 1 tests failed out of 8; skipped 2 tests: other, whole; skipped 6 cases in: google (2), script (1), unittest (3)'
for name in two three four; do add $name 'exit 1'; done
expect 8 '64% tests passed, 4 tests failed out of 11; skipped 2 tests: other, whole; skipped 6 cases in: google (2), script (1), unittest (3)'
[ "$(grep -c 'Once more' "$here/tests.log")" = 0 ] || { echo "four failures are no accident"; exit 1; }
echo "run-tests: ok"

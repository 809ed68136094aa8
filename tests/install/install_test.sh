#!/bin/sh
# `make install` with DESTDIR and PREFIX puts the program, its library, man pages and completions below them, and nothing elsewhere.
set -eu

build=$(dirname "${SPATE_BIN:?}")
work=$(mktemp -d "${TMPDIR:-/tmp}/spate-install.XXXXXX")
trap 'rm -rf "$work"' EXIT

env -u MAKEFLAGS -u MAKELEVEL make --no-print-directory -C "${SPATE_SOURCE:?}" install BUILD="$build" PREFIX=/opt/here DESTDIR="$work" > "$work/log" 2>&1 ||
  { cat "$work/log"; exit 1; }

failures=0
for file in bin/spate share/man/man1/spate.1 share/man/man1/spate-run.1 share/man/man1/spate-job.1 share/man/man1/spate-task.1 \
    share/man/man1/spate-state.1 share/man/man1/spate-submit.1 share/man/man1/spate-hub.1 share/man/man1/spate-node.1 share/man/man1/spate-top.1 share/man/man1/spate-overseer.1 share/man/man1/spate-report.1 share/man/man1/spate-sem.1 share/man/man1/spate-simulate.1 share/man/man1/gensub2.1 share/bash-completion/completions/spate share/bash-completion/completions/para share/zsh/site-functions/_spate \
    share/spate/python/spate_resident.py share/fish/vendor_completions.d/spate.fish share/fish/vendor_completions.d/parasol.fish; do
  [ -s "$work/opt/here/$file" ] || { echo "missing or empty: $file"; failures=1; }
done
if [ -e "$build/lib/libspate_mw.a" ]; then
  for file in include/spate/mw.h include/spate/bytes.h lib/libspate_mw.a lib/pkgconfig/spate-mw.pc lib/cmake/spate-mw/spate-mw-config.cmake \
      lib/cmake/spate-mw/spate-mw-config-version.cmake; do
    [ -s "$work/opt/here/$file" ] || { echo "missing or empty: $file"; failures=1; }
  done
fi
"$work/opt/here/bin/spate" --version || failures=1
if [ -e "$SPATE_BIN/spate-pmix" ]; then
  env -i "$work/opt/here/bin/spate-pmix" --version || failures=1
fi
printf '#LOOP\n$(path1)\n#ENDLOOP\n' > "$work/log"
[ "$(echo it | "$work/opt/here/bin/gensub2" stdin single "$work/log" stdout)" = it ] || failures=1
"$work/opt/here/bin/paraTestJob" 0 || failures=1
strays=$(find "$work" -type f ! -path "$work/opt/here/*" ! -path "$work/log")
[ -z "$strays" ] || { echo "outside PREFIX: $strays"; failures=1; }
exit $failures

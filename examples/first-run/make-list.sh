#!/bin/sh
# Writes a job list of real work over files that any machine has, to stdout: sums, counts and compressed sizes.
#
#   examples/first-run/make-list.sh [COUNT]      (default 1000 tasks)
set -eu
count=${1:-1000}

# Names that need no quoting, sizes that take some milliseconds each; sorted, so that two runs make the same list.
find /usr/share /usr/include /usr/lib -type f -readable -size +8k -size -512k 2>/dev/null |
  grep -E '^[A-Za-z0-9_./+-]+$' |
  LC_ALL=C sort |
  awk -v count="$count" '
    { file[n++] = $0 }
    END {
      if (n == 0) exit 1
      if (count > n) count = n
      for (i = 0; i < count; i++) {
        name = file[int(i * n / count)]
        if (i % 3 == 0) print "sha256sum " name
        else if (i % 3 == 1) print "wc " name
        else print "printf \"%s %s\\n\" \"$(gzip -9 -c " name " | wc -c)\" " name
      }
    }'

#!/bin/sh
# A fan: one task, a thousand that wait for it and sum a range of numbers each, one that adds their sums up.
#   examples/graphs/fan.sh FOLDER; cd FOLDER; spate run fan.dag; cat total      (500000500000: the numbers up to a million)
set -eu
mkdir -p "$1/sums"
cd "$1"
cat > sum.sh <<'END'
seq $(($1 * 1000 + 1)) $(($1 * 1000 + 1000)) | awk '{ s += $1 } END { printf "%d\n", s }' > sums/$1
END
cat > total.sh <<'END'
cat sums/* | awk '{ s += $1 } END { printf "%.0f\n", s }' > total
END
{
  echo 'TASK begin true'
  for i in $(seq 0 999); do echo "TASK sum_$i /bin/sh sum.sh $i"; done
  echo 'TASK total /bin/sh total.sh'
  for i in $(seq 0 999); do
    echo "EDGE begin sum_$i"
    echo "EDGE sum_$i total"
  done
} > fan.dag

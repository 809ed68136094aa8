#!/usr/bin/env python3
"""A graph with the shape of a Montage mosaic: images of the sky are projected, fitted to their neighbours, corrected and added.

  examples/graphs/montage.py SIDE FOLDER     SIDE x SIDE images; FOLDER/montage.dag and its inputs (50: about 10,000 tasks)
  cd FOLDER; spate run montage.dag           the mosaic is in `mosaic`

The same graph runs on a hub (spate submit --wait montage.dag) and inside an MPI job (mpiexec -n 8 pegasus-mpi-cluster montage.dag).
"""
import os
import random
import sys

STEP = r"""# One task of the graph: what to do, and on what.
set -e
case $1 in
  project)     # an image onto the grid of the mosaic
    awk -v i="$2" '{ for (k = 1; k <= NF; ++k) $k = int($k * (1 + i % 7 / 10)); print }' raw/$2 > proj/$2 ;;
  diff)        # how much two neighbours differ where they meet
    paste -d' ' proj/$2 proj/$3 | awk -v a="$2" -v b="$3" '{ s += $1 - $(NF / 2 + 1) } END { print a, b, s / NR }' > diff/$2.$3 ;;
  concat)      # all differences
    find diff -type f | sort | xargs cat > fits ;;
  model)       # the correction of each image: half of the mean difference from its neighbours
    awk '{ s[$1] -= $3; s[$2] += $3; ++n[$1]; ++n[$2] } END { for (i in s) printf "%d %.3f\n", i, s[i] / n[i] / 2 }' fits | sort -n > model ;;
  background)  # an image, corrected
    by=$(awk -v i="$2" '$1 == i { print $2 }' model)
    awk -v by="${by:-0}" '{ for (k = 1; k <= NF; ++k) $k = sprintf("%.1f", $k + by); print }' proj/$2 > corr/$2 ;;
  add)         # a row of the mosaic
    row=$2; shift 2; paste -d' ' $(for i; do echo corr/$i; done) > rows/$row ;;
  mosaic)
    for row in $(ls rows | sort -n); do cat rows/$row; done > mosaic.new && mv mosaic.new mosaic ;;
esac
"""


def graph(side):
    """The lines of the DAG."""
    tasks, edges = [], []

    def task(name, words, parents=(), options=""):
        tasks.append(f"TASK {name} {options}/bin/sh step.sh {words}")
        edges.extend(f"EDGE {parent} {name}" for parent in parents)

    images = range(side * side)
    for i in images:
        task(f"project_{i}", f"project {i}")
    pairs = [(i, j) for i in images for j in (i + 1, i + side)
             if j < side * side and (j == i + side or j % side)]
    for i, j in pairs:
        task(f"diff_{i}_{j}", f"diff {i} {j}", (f"project_{i}", f"project_{j}"))
    task("concat", "concat", [f"diff_{i}_{j}" for i, j in pairs], "-p 10 ")
    task("model", "model", ["concat"], "-p 10 ")
    for i in images:
        task(f"background_{i}", f"background {i}", ["model"])
    for row in range(side):
        of_row = range(row * side, (row + 1) * side)
        task(f"add_{row}", f"add {row} {' '.join(map(str, of_row))}", [f"background_{i}" for i in of_row], "-p 5 ")
    task("mosaic", "mosaic", [f"add_{row}" for row in range(side)])
    return tasks + edges


def main():
    if len(sys.argv) != 3 or not sys.argv[1].isdigit() or int(sys.argv[1]) < 2:
        sys.exit(__doc__)
    side, folder = int(sys.argv[1]), sys.argv[2]
    for name in ("raw", "proj", "diff", "corr", "rows"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    stars = random.Random(side)
    for i in range(side * side):
        with open(os.path.join(folder, "raw", str(i)), "w") as out:
            out.writelines(" ".join(str(stars.randrange(1000)) for _ in range(8)) + "\n" for _ in range(8))
    with open(os.path.join(folder, "step.sh"), "w") as out:
        out.write(STEP)
    with open(os.path.join(folder, "montage.dag"), "w") as out:
        out.writelines(line + "\n" for line in graph(side))


main()

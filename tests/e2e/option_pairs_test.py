"""Every pair of options of `spate run` and `spate submit`, in each way to give tasks: obeyed, or refused.

Obeyed: each value ran as often as it should, the output is where the options say, and the effect of both is seen.
Refused: with exit code 2 and a message that names one of the two, and no task ran. The ways are values behind :::, the
lines of a list, `run --hub` and `submit`. By default each pair is tried in one of them; `--rounds 4` tries all.
"""
import os
import re
import shutil
import subprocess
import sys
import time
import traceback

from cluster import cluster_of
from harness import SPATE, Place, main, option, want
from option_rows import EXCEPTIONS, HERE, ROWS, SUBMIT, WAYS
from option_trial import Trial

# In the environment for the processes that the tests run in.
ROUNDS = option("--rounds", int(os.environ.get("PAIR_ROUNDS", 1)))
os.environ["PAIR_ROUNDS"] = str(ROUNDS)
ONLY = os.environ.get("PAIR_ONLY", "")  # a part of the name of a row
SHARDS = 4
# Those two, in any way, and why they are not tried.
SKIPPED = {("--open", "--wait"): "waits until somebody closes the job",
           ("--open", "--progress"): "the same"}


class Bench:
    """Places for trials: one with a history of runs, one with a hub."""

    def __init__(self, place):
        self.here = place
        self.there = None
        self.count = 0

    def hub(self):
        if not self.there:
            self.there = Place()
            self.here.on_remove = self.there.remove
            cluster = cluster_of(self.there, "--listen", "none")
            cluster.node("n1", "--cpus", "16", "--jobs", "16", "--label", "big", "--gpus", "0,1", "--resource", "lic=2")
            cluster.submit("--wait", "--", "true")
        return self.there

    def outcome(self, way, rows):
        """"obeyed" or "refused"; what is neither is an AssertionError."""
        try:
            return self.one(way, rows, "0.4s")
        except AssertionError as error:
            if "--time-limit 0.4s" not in str(error):
                raise
            return self.one(way, rows, "3s")  # a busy machine may be too slow for the first limit

    def one(self, way, rows, limit):
        self.count += 1
        place = self.here if way in HERE else self.hub()
        trial = Trial(place, way, rows, self.count, limit)
        try:
            outcome = trial.run()
            if outcome.refused():
                return "refused"
            outcome.check()
            return "obeyed"
        except (AssertionError, subprocess.TimeoutExpired, LookupError, ValueError, AttributeError) as error:
            kind = "" if isinstance(error, AssertionError) else traceback.format_exc()
            raise AssertionError(f"{way}: {list(rows)}: {error}\n    spate {trial.typed}\n{kind}") from error
        finally:
            shutil.rmtree(trial.dir, ignore_errors=True)


def can_be_typed(row, way):
    return row.no != SUBMIT or way == "submit"


def pairs():
    """Each pair, also of a row with itself, with the ways in which it is tried."""
    for i, first in enumerate(ROWS):
        for j, second in enumerate(ROWS[i:], i):
            if tuple(sorted((first.option, second.option))) in SKIPPED:
                continue
            ways = [way for way in WAYS if can_be_typed(first, way) and can_be_typed(second, way)]
            # Those in which both can be obeyed come first.
            useful = [way for way in ways if way not in first.no and way not in second.no] or ways
            start = (i * 31 + j * 17) % len(useful)
            order = useful[start:] + useful[:start] + [way for way in ways if way not in useful]
            yield first, second, order[:ROUNDS]


def try_all(trials, bench):
    failures, counts, begun = [], {"obeyed": 0, "refused": 0}, time.monotonic()
    for way, rows in trials:
        try:
            counts[bench.outcome(way, rows)] += 1
        except AssertionError as error:
            failures.append(str(error))
    print(f"       ({counts['obeyed']} obeyed, {counts['refused']} refused, {len(failures)} failed "
          f"in {time.monotonic() - begun:.0f} s)", flush=True)
    want(not failures, "\n".join(failures))
    return counts


def shard(place, number):
    trials = [(way, (first, second)) for first, second, ways in pairs() for way in ways
              if ONLY in first.name or ONLY in second.name]
    counts = try_all(trials[number::SHARDS], Bench(place))
    want(ONLY or counts["obeyed"] > counts["refused"], f"too much is refused: {counts}")


def options_of(command):
    reference = subprocess.run([SPATE, "__reference"], capture_output=True, text=True, check=True).stdout
    part = reference.split(f"\n## spate {command}\n")[1].split("\n## ")[0]
    return {re.findall(r"--[a-z-]+", line.split("|")[1])[0] for line in part.splitlines() if re.match(r"\| `-", line)}


def test_every_option_has_a_row(place: Place):
    known = {row.option for row in ROWS} | set(EXCEPTIONS)
    options = options_of("run") | options_of("submit")
    want(options <= known, f"options without a row in option_rows.py: {sorted(options - known)}")
    want(known <= options | {"--help", "--help-all"}, f"rows of options that are gone: {sorted(known - options)}")


def test_each_option_alone(place: Place):
    """Is obeyed wherever its row does not say that it is refused."""
    bench, wrong = Bench(place), []
    trials = [(way, row) for row in ROWS if ONLY in row.name for way in WAYS]
    for way, row in trials:
        try:
            found = bench.outcome(way, (row,))
            expected = "refused" if way in row.no else "obeyed"
            if found != expected:
                wrong.append(f"{row} alone is {found} with {way}, not {expected}")
        except AssertionError as error:
            wrong.append(str(error))
    want(not wrong, "\n".join(wrong))


def test_pairs_1(place: Place):
    shard(place, 0)


def test_pairs_2(place: Place):
    shard(place, 1)


def test_pairs_3(place: Place):
    shard(place, 2)


def test_pairs_4(place: Place):
    shard(place, 3)


if __name__ == "__main__":
    main(globals(), at_once=4)

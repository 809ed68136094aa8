"""Job lists that are followed while they are written: `--follow` and `--follow-until`."""
import os
import signal
import subprocess

from harness import Place, main, wait, want
from run_test import shell


def test_follow(place: Place):
    run = place.start("--follow", "-", stdin=subprocess.PIPE)
    run.stdin.write(b"echo first > first; echo done\n")
    run.stdin.flush()
    wait(lambda: place.read("first") == "first\n", "the first task runs before the list ends")
    out, _ = run.communicate(b"echo second\n", timeout=60)
    want(sorted(out.split()) == [b"done", b"second"], out)


def add(place, text):
    with open(os.path.join(place.dir, "jobs.lst"), "a") as file:
        file.write(text)


def test_a_file_is_followed_to_its_last_line(place: Place):
    place.write("jobs.lst", "echo a")
    _, err = place.run("--follow", "jobs.lst", code=2)
    want("jobs.lst is a file" in err and "(--follow-until TEXT)" in err, err)
    want("tail -n +1 -F jobs.lst | spate run --follow -" in err, err)
    done = shell(place, "spate run --follow - < jobs.lst")
    want(done.returncode == 2 and b"--follow: standard input is a file" in done.stderr, done)
    want(not place.jobs(), place.jobs())
    run = place.start("-q", "--follow-until", "END", "jobs.lst")
    add(place, "echo b > b\necho c > c")
    wait(lambda: place.read("b"), "a line that came later runs at once")
    want(not place.read("c") and run.poll() is None, "half a line is not one, and the list is open")
    add(place, "c\nEND\nfalse\n")
    out, err = run.communicate(timeout=60)
    want((run.returncode, out, err) == (0, b"a\n", b""), (run.returncode, out, err))
    want(place.read("cc") == "c\n" and not place.read("c"), "a line in two pieces")
    # A resumed run reads it to the same line.
    _, err = place.run("--resume", "jobs.lst")
    want("nothing left to do" in err and "(3 of 3 tasks succeeded)" in err, err)
    done = shell(place, "spate run -q --follow-until END - < jobs.lst")
    want((done.returncode, done.stdout) == (0, b"a\n"), done)
    done = shell(place, "cat jobs.lst | spate run -q --follow-until END -")
    want((done.returncode, done.stdout) == (0, b"a\n"), done)


def test_a_last_line_without_its_newline_ends_the_list(place: Place):
    place.write("jobs.lst", "echo a")
    add(place, "END")
    out, _ = place.run("-q", "--follow-until", "END", "jobs.lst")
    want(out == "a\n", out)


def test_a_followed_file_that_is_changed_stops_the_run(place: Place):
    path = os.path.join(place.dir, "jobs.lst")
    for change, told in ((lambda: os.truncate(path, 0), "truncated"), (lambda: os.remove(path), "removed"),
                         (lambda: os.replace(os.path.join(place.dir, place.write("new", "END")), path), "replaced")):
        place.write("jobs.lst", "echo ran")
        run = place.start("--follow-until", "END", "jobs.lst")
        want(run.stdout.readline() == b"ran\n", "the first line runs")
        change()
        _, err = run.communicate(timeout=60)
        want(run.returncode == 2 and f"jobs.lst: the list was {told} while" in err.decode(), err)
    place.write("jobs.lst", "echo ran")
    run = place.start("--follow-until", "END", "jobs.lst")
    want(run.stdout.readline() == b"ran\n", "the first line runs")
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    want(run.returncode == 130, run.returncode)


def test_a_dry_run_of_a_followed_list_runs_nothing(place: Place):
    place.write("jobs.lst", "touch ran", "END", "false")
    out, _ = place.run("--dry-run", "--follow-until", "END", "jobs.lst")
    want(out == "touch ran\n", out)
    out, _ = place.run("--dry-run", "--follow", "-", stdin=b"touch ran\n")
    want(out == "touch ran\n", out)
    place.run("--dry-run", "--follow", "jobs.lst", code=2)
    want(not place.jobs() and not os.path.exists(os.path.join(place.dir, "ran")), "it ran")


def test_values_are_not_followed(place: Place):
    place.write("values", "a")
    for words in (["--", "echo", "{}", ":::", "a"], ["-a", "values", "--", "echo"], ["--", "echo", "{}"]):
        out, err = place.run("--follow", *words, code=2, stdin=b"a\n")
        want("--follow is for job lists" in err and not out and not place.jobs(), err)


if __name__ == "__main__":
    main(globals())

"""pegasus-mpi-cluster: data that tasks forward into shared files."""
import os
import re

from harness import Place, alive, main, mounted, wait, want
from pmc_place import LIBRARIES, Pmc, each, need_a_library


def test_each_tasks_data_arrives_whole_and_of_successes_alone(place: Place):
    place.write("w.sh", "i=$1", 'for n in 1 2 3; do echo "$i $n" >&$DATA; echo "f$i $n" >> s$i; done',
                'echo "g$i" > /proc/self/fd/$DATA; test $i != 7')
    place.write("f.dag", *(f"TASK T{i} -f DATA=out/pipe -F s{i}=out/file /bin/sh w.sh {i}" for i in range(40)))
    for pmc in each(place):
        pmc.run("f.dag", code=1)
        lines = place.lines("out/pipe")
        want(len(lines) == 39 * 4 and not [line for line in lines if line.split()[0] in ("7", "g7")], lines)
        for at in range(0, len(lines), 4):
            i = lines[at].split()[0]
            want(lines[at:at + 4] == [f"{i} 1", f"{i} 2", f"{i} 3", f"g{i}"], lines[at:at + 4])
        want(len(place.lines("out/file")) == 39 * 3, place.lines("out/file"))
        want(not [name for name in os.listdir(place.dir) if re.fullmatch(r"s\d+", name)], "sources are removed")


def test_files_are_small_regular_files_or_none(place: Place):
    place.write("small.sh", "head -c 1048576 /dev/zero > big")
    place.write("large.sh", "head -c 1048577 /dev/zero > big")
    for pmc in each(place):
        for task, told in (("-F big=out/all /bin/sh small.sh", None), ("-F none=out/all /bin/true", None),
                           ("-F big=out/all /bin/sh large.sh", "is too large"),
                           ("-F test=out/all /bin/mkdir test", "is not a file")):
            place.write("f.dag", f"TASK A {task}")
            done = pmc.run("f.dag", ranks=2, code=1 if told else 0)
            if told:
                want(dict(done.records())["A"] == 256 and told in done.err, done.err)
                os.path.isdir(os.path.join(place.dir, "test")) and os.rmdir(os.path.join(place.dir, "test"))
            os.unlink(os.path.join(place.dir, "f.dag.rescue"))
        want(os.path.getsize(os.path.join(place.dir, "out/all")) == 1048576, "one file was right")


def test_much_data_by_several_pipes(place: Place):
    place.write("m.sh", "head -c 5000000 /dev/zero | tr '\\0' a >&$A; head -c 70000 /dev/zero | tr '\\0' b >&$B",
                "test $A -lt 10 -a $B -lt 10")
    place.write("m.dag", "TASK M -f A=out/a -f B=out/b -f C=out/c /bin/sh m.sh")
    for pmc in each(place):
        pmc.run("m.dag", ranks=2)
        want(place.read("out/a") == "a" * 5000000 and place.read("out/b") == "b" * 70000, "all of it")
        want(not os.path.exists(os.path.join(place.dir, "out/c")), "nothing came")


def test_who_keeps_the_pipe_open_ends_with_the_task(place: Place):
    place.write("k.sh", "echo one >&$D; sleep 1000 & echo $! > pid")
    place.write("k.dag", "TASK K -f D=out/k /bin/sh k.sh")
    for pmc in each(place):
        pmc.run("k.dag", ranks=2)
        want(place.lines("out/k") == ["one"] and not alive(int(place.read("pid"))), place.read("out/k"))


def test_what_cannot_be_written_fails_the_task(place: Place):
    place.write("e.dag", "TASK A -f D=/dev/full /bin/sh e.sh", "TASK B -f D=out/b /bin/sh e.sh")
    place.write("e.sh", "echo some >&$D")
    for pmc in each(place):
        done = pmc.run("e.dag", ranks=2, code=1)
        want("Task A failed due to collective I/O errors" in done.err and done.err.count("Task A failed") == 1, done.err)
        want(dict(done.records()) == {"A": 256, "B": 0} and pmc.rescue("e.dag") == ["B"], done.out)
    # A full disk in the middle of a task's data: nothing of it stays.
    if not mounted(os.path.join(place.dir, "small"), "size=64k"):
        return
    place.on_remove = lambda: os.system(f"umount {place.dir}/small")
    place.write("f.sh", "head -c 40000 /dev/zero | tr '\\0' $1 >&$D")
    place.write("f.dag", "TASK A -f D=small/f /bin/sh f.sh a", "TASK B -f D=small/f /bin/sh f.sh b", "EDGE A B")
    for library in LIBRARIES:  # in a folder that stays as it is
        pmc = Pmc(place, library)
        done = pmc.run("f.dag", ranks=2, code=1)
        want("Task B failed due to collective I/O errors" in done.err, done.err)
        want(place.read("small/f") == "a" * 40000, len(place.read("small/f")))
        os.unlink(os.path.join(place.dir, "small/f"))
        os.unlink(os.path.join(place.dir, "f.dag.rescue"))


def test_killed_at_any_moment_each_tasks_data_is_there_once(place: Place):
    place.write("k.sh", 'echo "$1 begin" >&$D; echo "$1 end" >&$D; echo "$1 file" > s$1')
    place.write("k.dag", *(f"TASK T{i} -f D=out/k -F s{i}=out/s /bin/sh k.sh {i}" for i in range(120)))
    for pmc in each(place):
        for kill in range(5):
            run = pmc.start("k.dag", "-o", "k.out")
            wait(lambda: len(place.lines("out/k")) > 30 * kill + 2 or run.poll() is not None, "it goes on")
            pmc.kill_all(run)
        # As if it had died in the middle of an append, whose task is not done.
        with open(os.path.join(place.dir, "k.dag.rescue.forwards"), "a") as log, \
                open(os.path.join(place.dir, "out/k"), "a") as out:
            log.write(f"{out.tell()} 100 T119 out/k\n")
            out.write("torn")
        rescue = pmc.rescue("k.dag")
        want("T119" not in rescue, "the last one has not run")
        pmc.run("k.dag", "-o", "k.out")
        lines = place.lines("out/k")
        want(sorted(lines) == sorted(f"{i} {word}" for i in range(120) for word in ("begin", "end")), lines)
        want(sorted(place.lines("out/s")) == sorted(f"{i} file" for i in range(120)), place.lines("out/s"))
        want(not os.path.exists(os.path.join(place.dir, "k.dag.rescue.forwards")), "the log is gone")


def test_a_file_that_others_have_changed_is_left_alone(place: Place):
    place.write("c.sh", "echo data >&$D")
    place.write("c.dag", "TASK A -f D=out/c /bin/sh c.sh")
    for pmc in each(place):
        os.makedirs(os.path.join(place.dir, "out"), exist_ok=True)
        place.write("out/c", "theirs, and longer than ours")
        place.write("c.dag.rescue.forwards", "3 5 A out/c")
        done = pmc.run("c.dag", ranks=2)
        want("was changed since the last run" in done.err, done.err)
        want(place.lines("out/c") == ["theirs, and longer than ours", "data"], place.lines("out/c"))


if __name__ == "__main__":
    need_a_library()
    main(globals())

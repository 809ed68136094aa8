"""pegasus-mpi-cluster forwards I/O (-f, -F): what tasks write is put into shared files by the first process."""
import hashlib
import os
import random
import re

from harness import Place, main, wait, want
from pmc_place import DIAMOND, WAIT, each, need_a_library

LIMIT = 1048576  # bytes of a file that -F takes


def exists(place, name):
    return os.path.exists(os.path.join(place.dir, name))


def pipe_script(place, name="f.sh", text="echo data of $PMC_TASK"):
    """Writes to the descriptor in OUT. (sh itself cannot redirect to one of two digits.)"""
    place.write(name, f"{{ {text}; }} >> /proc/self/fd/$OUT")


def test_forward_what_a_task_writes_to_its_pipe(place: Place):
    place.write("f.dag", "TASK A -f OUT=new/deep/all /bin/sh f.sh",
                "TASK B --pipe-forward OUT=new/deep/all /bin/sh f.sh",
                "TASK C -f OUT=empty true", 'TASK D /bin/sh -c "test -z $OUT"', "EDGE A B", "EDGE B C", "EDGE C D")
    pipe_script(place)
    for pmc in each(place):
        done = pmc.run("f.dag")
        want(place.lines("new/deep/all") == ["data of A", "data of B"], place.read("new/deep/all"))
        want("data of" not in done.out and done.summary()["stat"] == "ok", done.out)
        want(not place.read("empty"), "nothing was written")
        # What is there stays.
        pmc.run("-s", "f.dag")
        want(place.lines("new/deep/all") == ["data of A", "data of B"] * 2, place.read("new/deep/all"))


def test_forward_large_and_binary_data_whole(place: Place):
    place.write("l.dag", "TASK A -f OUT=big /bin/sh f.sh")
    pipe_script(place, text="cat data.sh data.sh data.sh data.sh data.sh")
    data = random.Random(5).randbytes(1000003)
    with open(os.path.join(place.dir, "data.sh"), "wb") as file:
        file.write(data)
    for pmc in each(place):
        pmc.run("l.dag", ranks=2)
        with open(os.path.join(place.dir, "big"), "rb") as file:
            want(hashlib.sha256(file.read()).digest() == hashlib.sha256(data * 5).digest(), "the bytes")


def test_forward_keeps_the_data_of_a_task_together(place: Place):
    place.write("t.dag", *(f"TASK T{i} {'-f OUT=all' if i % 2 else f'-F src{i}=all'} /bin/sh {'f' if i % 2 else 's'}.sh"
                           for i in range(16)))
    body = "for n in 1 2 3 4 5; do echo $PMC_TASK $n; sleep 0.01; done"
    pipe_script(place, text=body)
    place.write("s.sh", "{ " + body + "; } > src${PMC_TASK#T}")
    for pmc in each(place):
        pmc.run("t.dag", ranks=5)
        lines = place.lines("all")
        names = [line.split()[0] for line in lines[::5]]
        want(sorted(names) == sorted(f"T{i}" for i in range(16)), lines)
        want(lines == [f"{name} {n}" for name in names for n in range(1, 6)], lines)


def test_forward_only_what_a_task_that_succeeds_writes(place: Place):
    place.write("x.dag", "TASK A -t 3 -f OUT=all -F src=copy /bin/sh x.sh",
                "TASK B -f OUT=never -F other=never2 /bin/sh y.sh")
    place.write("x.sh", "echo x >> tries", "n=$(wc -l < tries)", "echo try $n >> /proc/self/fd/$OUT",
                "echo copy $n > src", "test $n = 3")
    place.write("y.sh", "echo b >> /proc/self/fd/$OUT", "echo b > other", "exit 1")
    for pmc in each(place):
        pmc.run("x.dag", code=1)
        told = place.lines("all"), place.lines("copy")
        want(told == (["try 3"], ["copy 3"]), told)
        want(not place.read("never") and not place.read("never2"), "it failed")
        want(not exists(place, "src") and not exists(place, "other"), "sources are removed, also after a failure")
        want(pmc.rescue("x.dag") == ["A"], pmc.rescue("x.dag"))


def test_forward_a_file_and_remove_it(place: Place):
    place.write("s.dag", "TASK A -F src=deep/all /bin/sh -c \"echo one > src\"",
                "TASK B --file-forward src=deep/all /bin/sh -c \"printf two > src\"",
                "TASK C -F missing=all2 true", "TASK D -F src=all3 touch src", "EDGE A B", "EDGE B C", "EDGE C D")
    for pmc in each(place):
        pmc.run("s.dag")
        want(place.read("deep/all") == "one\ntwo", place.read("deep/all"))
        want(not exists(place, "src") and not place.read("all2") and not place.read("all3"), os.listdir(place.dir))


def test_forward_a_file_up_to_its_limit(place: Place):
    place.write("z.dag", f'TASK A -F ./src.a=all.a /bin/sh -c "head -c {LIMIT} /dev/zero > src.a"',
                f'TASK B -F ./src.b=all.b /bin/sh -c "head -c {LIMIT + 1} /dev/zero > src.b"')
    for pmc in each(place):
        done = pmc.run("z.dag", code=1)
        want(os.path.getsize(os.path.join(place.dir, "all.a")) == LIMIT, "all of it")
        want("Task B: File ./src.b is too large" in done.err and not place.read("all.b"), done.err)
        want(dict(done.records()) == {"A": 0, "B": 256}, done.out)
        want(not exists(place, "src.a") and not exists(place, "src.b"), os.listdir(place.dir))


def test_forward_to_a_device(place: Place):
    place.write("d.dag", "TASK A -f OUT=/dev/null -F src=/dev/null /bin/sh f.sh", "TASK B touch ran", "EDGE A B")
    place.write("f.sh", "echo data >&$OUT; echo more > src")
    for pmc in each(place):
        done = pmc.run("d.dag")
        want(done.records() == [("A", 0), ("B", 0)], (done.out, done.err))
        want(exists(place, "ran") and not exists(place, "src"), os.listdir(place.dir))
        for name in ("ran", "d.dag.rescue"):
            os.remove(os.path.join(place.dir, name))


def test_forward_refuses_what_is_not_a_file(place: Place):
    place.write("n.dag", "TASK A -F ./test=all mkdir -p test", "TASK B touch ran", "EDGE A B")
    for pmc in each(place):
        done = pmc.run("n.dag", code=1)
        want("Task A: ./test is not a file" in done.err and done.records() == [("A", 256)], (done.out, done.err))
        want(not exists(place, "ran") and not pmc.rescue("n.dag"), "it failed")


def test_forward_fails_the_task_whose_data_cannot_be_written(place: Place):
    place.write("c.dag", "TASK A -f OUT=file/all /bin/sh f.sh", "TASK B -F none=folder true", "TASK C touch ran",
                "EDGE A C", 'TASK D -F src=folder /bin/sh -c "echo x > src"', "TASK E -f OUT=fine /bin/sh f.sh")
    pipe_script(place)
    for pmc in each(place):
        place.write("file", "not a folder")
        os.mkdir(os.path.join(place.dir, "folder"))
        done = pmc.run("c.dag", code=1)
        for name in "AD":
            want(f"Task {name} failed due to collective I/O errors" in done.err, done.err)
        want(not exists(place, "ran") and sorted(pmc.rescue("c.dag")) == ["B", "E"], pmc.rescue("c.dag"))
        want(place.lines("fine") == ["data of E"] and done.summary()["stat"] == "failed", done.out)
        # It goes on once the trouble is gone.
        os.unlink(os.path.join(place.dir, "file"))
        os.rmdir(os.path.join(place.dir, "folder"))
        pmc.run("c.dag")
        want(place.lines("file/all") == ["data of A"] and place.lines("folder") == ["x"], os.listdir(place.dir))


def test_forward_several_ways_at_once(place: Place):
    place.write("v.dag", "TASK A -f ONE=wrong -f TWO=two -F s=wrong2 -F t=t=all -f ONE=one -F s=s.all /bin/sh v.sh")
    place.write("v.sh", "test $ONE != $TWO || exit 1", "echo 1 >> /proc/self/fd/$ONE", "echo 2 >> /proc/self/fd/$TWO",
                "echo 1 again >> /proc/self/fd/$ONE", "echo s > s; echo t > t")
    for pmc in each(place):
        pmc.run("v.dag", ranks=2)
        want(place.lines("one") == ["1", "1 again"] and place.lines("two") == ["2"], os.listdir(place.dir))
        # Of the same variable or file the last one counts, and a path may have a "=".
        want(place.lines("s.all") == ["s"] and place.lines("t=all") == ["t"], os.listdir(place.dir))
        want(not place.read("wrong") and not place.read("wrong2"), os.listdir(place.dir))


def test_forward_with_few_open_files(place: Place):
    place.write("m.dag", *(f"TASK T{i} -f OUT=out/{i % 7} /bin/sh f.sh" for i in range(42)))
    pipe_script(place)
    for pmc in each(place):
        rates = []
        for most in ("1", "100"):
            done = pmc.run("-s", "--maxfds", most, "m.dag", ranks=4)
            rates.append(float(re.search(r"File descriptor cache hit rate: (\S+)", done.err)[1]))
        for i in range(7):
            want(sorted(place.lines(f"out/{i}")) == sorted([f"data of T{t}" for t in range(i, 42, 7)] * 2), f"out/{i}")
        want(0 <= rates[0] < rates[1] < 1, rates)


def test_forward_from_the_members_of_a_diamond(place: Place):
    place.write("d.dag", *(f"TASK {name} -f OUT=all /bin/sh f.sh" for name in "ABCD"), *DIAMOND)
    pipe_script(place)
    for pmc in each(place):
        pmc.run("d.dag", ranks=4)
        lines = place.lines("all")
        want(lines[0] == "data of A" and lines[3:] == ["data of D"], lines)
        want(sorted(lines[1:3]) == ["data of B", "data of C"], lines)


def test_forward_before_a_task_counts_as_done(place: Place):
    # Whatever is killed: what the rescue file has is whole in the file; a record may be there twice.
    place.write("k.dag", *(f"TASK T{i} -f OUT=all /bin/sh f.sh" for i in range(80)))
    pipe_script(place)
    rng = random.Random(3)
    for pmc in each(place):
        for _ in range(4):
            enough = len(pmc.rescue("k.dag")) + rng.randrange(1, 15)
            run = pmc.start("k.dag", "-o", "k.out")
            wait(lambda: len(pmc.rescue("k.dag")) > enough or run.poll() is not None, "it goes on")
            pmc.kill_all(run)
            pmc.end_all()
            told = {f"data of {name}" for name in pmc.rescue("k.dag")}
            want(told <= set(place.lines("all")), "what is done is there")
        pmc.run("k.dag", "-o", "k.out")
        want(set(f"data of T{i}" for i in range(80)) <= set(place.lines("all")), "all")


def test_forward_of_a_task_that_is_stopped_is_left_out(place: Place):
    place.write("w.dag", "TASK A -f OUT=all /bin/sh w.sh")
    place.write("w.sh", "echo half >> /proc/self/fd/$OUT", WAIT.replace("$1", "never"))
    for pmc in each(place):
        done = pmc.run("--max-wall-time", "0.02", "w.dag", code=1)
        want("Aborting workflow" in done.err and not place.read("all") and not pmc.rescue("w.dag"), done.err)


if __name__ == "__main__":
    need_a_library()
    main(globals())

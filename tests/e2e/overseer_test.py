"""spate overseer with masters that are fakes: here, on a hub with a node, and on one with a pool."""
import json
import os
import shutil
import signal
import subprocess

from cluster import cluster_of
from fake_mw import Master
from harness import SPATE, alive, main, wait, want

FAKE = os.path.abspath(os.path.join(os.path.dirname(__file__), "fake_mw.py"))
EVERY = ("--every", "50ms")


class Overseer:
    """spate overseer, and all that it says."""

    def __init__(self, place, *args, log="overseer.log"):
        self.place, self.log = place, log
        with open(os.path.join(place.dir, log), "w") as out:
            self.process = subprocess.Popen([SPATE, "overseer", *args, *EVERY], cwd=place.dir, env=place.env,
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        before = place.on_remove

        def stop():
            self.kill()
            before()
        place.on_remove = stop

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def says(self, text, times=1):
        wait(lambda: self.place.read(self.log).count(text) >= times or self.process.poll() is not None, f"it says: {text}")
        want(self.place.read(self.log).count(text) >= times, f"it never said: {text}\n{self.place.read(self.log)}")

    def ends(self, code):
        wait(lambda: self.process.poll() is not None, "the overseer ends")
        want(self.process.returncode == code, f"exit code {self.process.returncode}, not {code}\n{self.place.read(self.log)}")

    def last(self):
        return (self.place.lines(self.log) or [""])[-1]


def master_of(place, wanted, name="search.rsc", program=FAKE, **options):
    master = Master(os.path.join(place.dir, name), program, wanted, **options)
    before = place.on_remove

    def stop():
        if not master.stopped:
            master.die()
        before()
    place.on_remove = stop
    return master


def connected(master, count):
    wait(lambda: len(master.names()) == count, f"{count} slaves are connected")


def written(master, times):
    """The master has written its file so often again, with what it knows by now."""
    for _ in range(times):
        due = master.due
        wait(lambda: master.due != due, "the master writes")


def tasks_of(cluster, job):
    out, _ = cluster.spate("job info", job, "--output", "json")
    return json.loads(out)


# ---- On this machine ---------------------------------------------------------------------------


def test_here_from_the_first_slave_to_the_end(place):
    master = master_of(place, 3)
    overseer = Overseer(place, "search.rsc", "--local", "8")
    connected(master, 3)
    overseer.says("0 missing, 0 queued, 3 running")
    written(master, 2)
    want(len(master.names()) == 3, "those that have connected are not started again")
    # One is killed, one has done its part, one says that it is lost: their places are free.
    os.kill(master.names()[0][0], signal.SIGKILL)
    overseer.says("ended by SIGKILL")
    connected(master, 3)
    master.tell(0)
    connected(master, 3)
    master.tell(255)
    overseer.says("ended with exit code 255")
    connected(master, 3)
    master.want(5)
    connected(master, 5)
    written(master, 2)
    want(len(master.names()) == 5, "no more than wanted")
    master.finish()
    overseer.ends(0)
    want("search.rsc: finished" in place.read("overseer.log"), "it says why it ends")


def test_here_a_failed_computation_is_one(place):
    master = master_of(place, 1)
    overseer = Overseer(place, "search.rsc", "--local", "4")
    connected(master, 1)
    master.finish(failed=True)
    overseer.ends(1)
    want("search.rsc: failed" in place.read("overseer.log"), place.read("overseer.log"))


def test_here_an_overseer_is_quicker_than_its_master(place):
    """The file of the last computation is there when its commands are typed again."""
    for last in ("failed", "finished", "stale"):
        old = master_of(place, 1)
        if last == "stale":
            old.write(age=3600)
        else:
            old.finish(failed=last == "failed")
        old.die()
        overseer = Overseer(place, "search.rsc", "--local", "4", log=last)
        overseer.says("for another master")
        master = master_of(place, 1)
        connected(master, 1)
        master.finish()
        overseer.ends(0)


def test_here_no_more_than_may_be(place):
    masters = [master_of(place, 5, "one.rsc"), master_of(place, 5, "two.rsc")]
    Overseer(place, "one.rsc", "two.rsc", "--local", "3")
    wait(lambda: sum(len(master.names()) for master in masters) == 3, "three are connected")
    for master in masters:
        written(master, 2)
    want(sum(len(master.names()) for master in masters) == 3, "no more than may be at once")


def test_here_slaves_end_with_a_killed_overseer(place):
    master = master_of(place, 3)
    overseer = Overseer(place, "search.rsc", "--local", "3")
    connected(master, 3)
    pids = [pid for pid, _ in master.names()]
    overseer.kill()
    wait(lambda: not any(alive(pid) for pid in pids), "the slaves end")
    Overseer(place, "search.rsc", "--local", "3")
    connected(master, 3)


def test_here_a_lost_master_is_told_with_last_words(place):
    master = master_of(place, 2, interval=10)  # by which a slave has failed before it has connected
    overseer = Overseer(place, "search.rsc", "--local", "2")
    connected(master, 2)
    # As a master that is killed: its file still asks for slaves.
    master.want(4)
    master.die()
    overseer.says("the master is lost")
    overseer.says("no master at port")
    overseer.says("slaves fail one after the other before they have connected")
    overseer.says("backing off")
    want(overseer.process.poll() is None, "it goes on trying")
    # Its next life, with other needs at another port.
    again = master_of(place, 2)
    connected(again, 2)
    again.finish()
    overseer.ends(0)


def test_here_a_stale_file_ends_it(place):
    master = master_of(place, 2, interval=2)
    overseer = Overseer(place, "search.rsc", "--local", "2")
    connected(master, 2)
    overseer.kill()
    connected(master, 0)
    master.writes = False
    master.write(age=58)  # it goes stale a minute after it was due
    overseer = Overseer(place, "search.rsc", "--local", "2")
    connected(master, 2)
    overseer.says("search.rsc: stale")
    overseer.says("2 still run, and end by themselves")
    want(len(master.names()) == 2, "those that run are left alone")
    master.die()
    overseer.ends(1)


def test_here_what_is_wrong_with_one_file_is_not_with_others(place):
    place.write("torn.rsc", "(:slaves-needed 3)", '(:slave-executable ("/bin/true')
    good = master_of(place, 1, "good.rsc")
    overseer = Overseer(place, "torn.rsc", "good.rsc", "later.rsc", "--local", "4")
    connected(good, 1)
    overseer.says("torn.rsc:2: ")
    overseer.says("later.rsc: is not there yet")
    want(place.read("overseer.log").count("torn.rsc:2: ") == 1, "the same trouble is told once")
    later = master_of(place, 1, "later.rsc")
    mended = master_of(place, 1, "torn.rsc")
    connected(later, 1)
    connected(mended, 1)
    # Torn while it works: what was there before holds.
    mended.writes = False
    mended.write(text="(:slaves-needed 9")
    overseer.says("torn.rsc:1: ")
    want(len(mended.names()) == 1, "nobody is lost")
    for master in (good, later, mended):
        master.finish()
    overseer.ends(0)


def test_here_a_folder_is_watched(place):
    os.mkdir(os.path.join(place.dir, "masters"))
    place.write("masters/notes.txt", "nothing")
    first = master_of(place, 1, "masters/first.rsc")
    overseer = Overseer(place, "masters", "--local", "4", "--output", "json")
    connected(first, 1)
    second = master_of(place, 1, "masters/second.rsc")
    connected(second, 1)
    for master in (first, second):
        master.finish()
    overseer.says('"state":"finished"', times=2)
    third = master_of(place, 1, "masters/third.rsc")
    connected(third, 1)
    rows = [json.loads(line) for line in place.lines("overseer.log") if line.startswith("{")]
    want(all(row["type"] == "overseer" for row in rows), "JSON lines")
    want({os.path.basename(row["file"]) for row in rows} == {"first.rsc", "second.rsc", "third.rsc"}, str(rows))
    os.kill(overseer.process.pid, signal.SIGINT)
    overseer.ends(130)
    connected(third, 0)


def test_files_of_others_are_refused(place):
    if os.geteuid() != 0:
        return print("       (skipped: only root can give files away)")
    master_of(place, 1).writes = False
    os.chown(os.path.join(place.dir, "search.rsc"), 12345, 12345)
    _, err = place.run("search.rsc", "--local", "1", command="overseer", code=3)
    want("belongs to user 12345" in err, err)


# ---- On a hub ----------------------------------------------------------------------------------


def test_hub_with_a_node(place):
    cluster = cluster_of(place)
    cluster.node("n1", "--slots", "2", "--cpus", "8")
    master = master_of(place, 4)
    overseer = Overseer(place, "search.rsc", "--cpus", "0.1")
    connected(master, 2)
    overseer.says("2 missing, 2 queued, 2 running (job 1)")
    written(master, 2)
    want(tasks_of(cluster, "1")["total"] == 4, "the file knows of two, the other two are queued")
    # What is wanted no more is taken back; what runs is left alone.
    master.want(1)
    overseer.says("0 missing, 0 queued, 2 running (job 1)")
    want(len(master.names()) == 2, "those that run are left alone")
    # Partly: of three that wait one stays.
    master.want(5)
    overseer.says("3 missing, 3 queued, 2 running")
    master.want(3)
    overseer.says("1 missing, 1 queued, 2 running")
    master.tell(255)
    overseer.says("ended with exit code 255")
    connected(master, 2)
    master.finish()
    overseer.ends(0)
    wait(lambda: tasks_of(cluster, "1")["queued"] == 0 and tasks_of(cluster, "1")["running"] == 0, "the job ends")
    cluster.spate("job wait", "1", code=1)


def words_of(pid):
    with open(f"/proc/{pid}/cmdline") as file:
        return file.read().split("\0")[:-1]


def test_slaves_of_several_slots(place):
    """They are told so, here and on a hub, where they take as many cpus, unless another number is given."""
    master = master_of(place, 1)
    overseer = Overseer(place, "search.rsc", "--local", "4", "--slots", "3")
    connected(master, 1)
    want(words_of(master.names()[0][0])[-2:] == ["--mw-slots", "3"], words_of(master.names()[0][0]))
    overseer.kill()
    connected(master, 0)
    cluster = cluster_of(place)
    cluster.node("n1", "--slots", "8", "--cpus", "4")
    master.want(4)
    overseer = Overseer(place, "search.rsc", "--slots", "2", "--memory", "1G")
    overseer.says("2 missing, 2 queued, 2 running (job 1)")
    connected(master, 2)
    want(words_of(master.names()[0][0])[-4:] == ["--mw-slots", "2", "--mw-memory", str(1 << 30)], words_of(master.names()[0][0]))
    overseer.kill()
    overseer = Overseer(place, "search.rsc", "--slots", "2", "--memory", "1G", "--cpus", "1", log="again.log")
    # What is wanted is known to the hub; only slaves that come now need less.
    overseer.says("(job 1)")
    master.finish()
    overseer.ends(0)
    for wrong in ("0", "4097", "x"):
        refused = Overseer(place, "search.rsc", "--slots", wrong, log="wrong.log")
        refused.ends(2)
        refused.says("slots")


def test_hub_a_killed_overseer_finds_its_job(place):
    cluster = cluster_of(place)
    cluster.node("n1", "--slots", "2", "--cpus", "8")
    master = master_of(place, 4)
    for _ in range(3):
        overseer = Overseer(place, "search.rsc", "--cpus", "0.1")
        overseer.says("queued, 2 running (job 1)")
        overseer.kill()
    overseer = Overseer(place, "search.rsc", "--cpus", "0.1")
    overseer.says("2 missing, 2 queued, 2 running (job 1)")
    written(master, 2)
    want(tasks_of(cluster, "1")["total"] == 4, "nobody was started twice")
    # The next life of the master wants slaves of its own; what waited for the first one does not stay.
    overseer.kill()
    master.die()
    again = master_of(place, 2)
    overseer = Overseer(place, "search.rsc", "--cpus", "0.1")
    connected(again, 2)
    overseer.says("running (job 2)")
    # Those that began before it was closed serve the new master, until it ends.
    wait(lambda: tasks_of(cluster, "1")["queued"] == 0, "none of the first job waits")
    again.finish()
    overseer.ends(0)
    cluster.spate("job wait", "1", code=1)


def test_hub_stale_and_alive_again(place):
    cluster = cluster_of(place)
    cluster.node("n1", "--slots", "1", "--cpus", "8")
    master = master_of(place, 2, interval=2)
    other = master_of(place, 0, "other.rsc", interval=2)  # so that it goes on
    master.writes = False
    master.write(age=58)
    overseer = Overseer(place, "search.rsc", "other.rsc", "--cpus", "0.1")
    connected(master, 1)
    overseer.says("search.rsc: stale")
    overseer.says("1 still runs, and ends by itself (job 1)")
    want(tasks_of(cluster, "1")["queued"] == 0, "what waits is taken back")
    want(len(master.names()) == 1, "what runs is left alone")
    master.writes = True
    overseer.says("1 missing, 1 queued, 1 running (job 1)")
    master.tell(0)
    overseer.says("1 missing, 1 queued, 1 running (job 1)", times=2)
    os.kill(overseer.process.pid, signal.SIGTERM)
    overseer.says("no more slaves start; 1 still runs, and ends by itself (job 1)", times=2)
    overseer.ends(143)
    want(len(master.names()) == 1, "it still runs")
    other.finish()


def test_hub_with_a_pool_of_this_machine(place):
    cluster = cluster_of(place)
    cluster.spate("pool add", "local", "here", "--slots", "2", "--idle-exit", "1s")
    place.run("search.rsc", "--pool", "nowhere", command="overseer", code=2)
    master = master_of(place, 2)
    overseer = Overseer(place, "search.rsc", "--pool", "here", "--cpus", "0.1")
    connected(master, 2)
    overseer.says("0 missing, 0 queued, 2 running")
    os.kill(master.names()[0][0], signal.SIGKILL)
    overseer.says("ended by SIGKILL")
    connected(master, 2)
    master.finish()
    overseer.ends(0)
    cluster.spate("pool remove", "here", "--wait")


def test_hub_ships_where_nothing_is_shared(place):
    cluster = cluster_of(place)
    cluster.node("n1", "--slots", "4", "--cpus", "8")
    folder = os.path.join(place.dir, "only-here")
    os.mkdir(folder)
    program = os.path.join(folder, "ping")
    shutil.copy(FAKE, program)
    os.mkdir(os.path.join(place.dir, "masters"))
    master = master_of(place, 1, "masters/search.rsc", program=program)
    overseer = Overseer(place, "masters/search.rsc", "--ship", "--cpus", "0.1")
    connected(master, 1)
    # Neither the program nor the resource file can be found by their paths any more.
    master.writes = False
    os.rename(folder, folder + ".away")
    want(not master.names()[0][1].startswith(place.dir + "/masters"), "it runs in a folder of its own")
    master.writes = True
    master.want(3)
    connected(master, 3)
    want(len({cwd for _, cwd in master.names()}) == 3, "each has a folder of its own")
    master.finish()
    overseer.ends(0)


def test_hub_goes_away_and_comes_back(place):
    cluster = cluster_of(place)
    cluster.node("n1", "--slots", "2", "--cpus", "8")
    master = master_of(place, 1)
    overseer = Overseer(place, "search.rsc", "--cpus", "0.1")
    connected(master, 1)
    cluster.kill_hub()
    overseer.says("spate: search.rsc: ")
    cluster.start_hub()
    master.want(2)
    connected(master, 2)
    master.finish()
    overseer.ends(0)


main(globals(), at_once=4)

"""What the fakes of batch systems share: a queue in the folder $FAKE_BATCH, whose jobs are real processes.

A job is a folder: `state` (queued, running, held, ended), `end` (done, failed, cancelled), `reason`, `script`, `name`, `output`,
`pid`, `starts`, and what its system keeps. A process beside each running job waits for it, as a daemon of the system would. What
goes wrong on purpose is told by files in the folder:

    down     nothing answers
    lost     a submit is carried out, and the answer does not come
    late     a submit is carried out, and answers when this file has gone
    forgets  ended jobs are not known any more
    refuse   its text is what a submit complains of
    hold     jobs are held instead of started; its text is the reason
    slots    so many jobs run at once (4)
    cpus     of a node (2)
    grace    seconds between the asking and the killing of a job (10)
    leaves   a job is asked by signals to all that descends from it, children first; its text: so many seconds between two
"""
import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import time

PLACE = os.environ["FAKE_BATCH"]
QUEUED, RUNNING, HELD, ENDED = "queued", "running", "held", "ended"
DONE, FAILED, CANCELLED = "done", "failed", "cancelled"
PR_SET_CHILD_SUBREAPER = 36


def path(*names):
    return os.path.join(PLACE, *names)


def read(*names, default=""):
    try:
        with open(path(*names)) as file:
            return file.read()
    except OSError:
        return default


def write(text, *names):
    temporary = path(*names) + f".{os.getpid()}"
    with open(temporary, "w") as file:
        file.write(text)
    os.rename(temporary, path(*names))


def there(*names):
    return os.path.exists(path(*names))


def cpus():
    return read("cpus", default="2").strip()


def jobs():
    return sorted((name for name in os.listdir(PLACE) if name.isdigit()), key=int)


def state(job):
    return read(job, "state")


def is_known(job):
    """Whether the system still names it."""
    return state(job) != "" and not (state(job) == ENDED and there("forgets"))


class locked:
    file = None

    def __enter__(self):
        locked.file = open(path("lock"), "w")
        fcntl.flock(locked.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        locked.file.close()


class Failed(Exception):
    def __init__(self, text, code=1, out=""):
        super().__init__(text)
        self.text, self.code, self.out = text, code, out


class System:
    """What a batch system does in its own way."""
    lost = ("no answer", 1)     # what a submit says whose answer is lost, and its exit code
    hold_reason = "held"

    def launch(self, job):
        """What runs it: the arguments of Popen."""
        raise NotImplementedError

    def has_ended(self, job, again):
        """Its processes are gone; `again`: it will start once more. Under the lock."""

    def overdue(self, job):
        """It has run for as long as it may."""
        self.stop(job, CANCELLED)

    kills_sessions = False  # or all that descends from the job

    def matches(self, job):
        """Whether there is a machine for it."""
        return True

    def asked(self, first):
        """Which processes hear SIGTERM; `first` is the job's own."""
        return of_session(first)

    def kill(self, first):
        send(of_session(first) if self.kills_sessions else descendants(), signal.SIGKILL)

    def limit(self, job):
        """Seconds that it may run, or none."""
        return None

    # ---- For the commands; under the lock --------------------------------------------------------

    def add(self, **texts):
        job = str(max([0, *map(int, jobs())]) + 1)
        os.mkdir(path(job))
        texts.setdefault("submitted", str(int(time.time())))
        for name, text in texts.items():
            write(text, job, name)
        write("0", job, "starts")
        self.change(job, QUEUED)
        return job

    def change(self, job, new, reason=""):
        write(reason, job, "reason")
        write(str(int(time.time())), job, "since")
        write(new, job, "state")

    def stop(self, job, then, reason="", hard=False):
        """Ends a running job; it is then cancelled, queued or held. Who looks after it sends the signals."""
        write(reason, job, "why")
        write(then, job, "then")
        write("kill" if hard else "ask", job, "wish")

    def cancel(self, job):
        if state(job) == RUNNING:
            self.stop(job, CANCELLED)
        elif state(job) != ENDED:
            write(CANCELLED, job, "end")
            self.change(job, ENDED)

    def schedule(self):
        running = [job for job in jobs() if state(job) == RUNNING]
        slots = int(read("slots", default="4"))
        for job in jobs():
            if state(job) != QUEUED:
                continue
            if there("hold"):
                self.change(job, HELD, read("hold").strip() or self.hold_reason)
            elif len(running) < slots and self.matches(job):
                self.start(job)
                running.append(job)

    def start(self, job):
        for name in ("then", "why", "wish"):
            write("", job, name)
        write(str(int(read(job, "starts")) + 1), job, "starts")
        self.change(job, RUNNING)
        ready, begun = os.pipe()
        if os.fork():
            os.close(begun)
            os.read(ready, 1)  # its process is known
            os.close(ready)
            return
        try:
            os.close(ready)
            self.look_after(job, begun)
        except BaseException as error:  # where nobody would see it
            write(repr(error), "broken")
        os._exit(0)

    def look_after(self, job, begun):
        os.setsid()
        locked.file.close()  # the lock is our parent's
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        end = time.time() + (self.limit(job) or 1e9)
        try:
            process = subprocess.Popen(start_new_session=True, close_fds=True, **self.launch(job))
        except Failed as error:  # it cannot start
            os.close(begun)
            with locked():
                self.change(job, HELD, error.text)
            return
        write(str(process.pid), job, "pid")
        os.close(begun)
        kill_at = None
        while True:
            try:
                code = process.wait(timeout=0.1)
                break
            except subprocess.TimeoutExpired:
                pass
            wish = read(job, "wish")
            if wish == "ask" and kill_at is None:
                kill_at = time.time() + float(read("grace", default="10"))
                if there("leaves"):
                    send(leaves_first(), signal.SIGTERM, float(read("leaves")))
                else:
                    send(self.asked(process.pid), signal.SIGTERM)
            elif not there(job) or wish == "kill" or (kill_at and time.time() > kill_at):
                self.kill(process.pid)
            elif not wish and time.time() > end:
                with locked():
                    self.overdue(job)
        self.kill(process.pid)  # what it has left behind
        if not there(job):
            return  # the folder was removed under it
        with locked():
            then = read(job, "then")
            write(str(code), job, "code")
            self.has_ended(job, then in (QUEUED, HELD))
            if then in (QUEUED, HELD):
                self.change(job, then, read(job, "why"))
            else:
                write(then or (DONE if code == 0 else FAILED), job, "end")
                self.change(job, ENDED, read(job, "why"))
            self.schedule()


def processes():
    """{pid: parent} and {pid: session} of all that runs."""
    parents, sessions = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(name)], sessions[int(name)] = int(fields[1]), int(fields[3])
    return parents, sessions


def descendants():
    """{pid: session} of what this process has started, and these, and so on: it takes in what has lost its parent."""
    parents, sessions = processes()
    family = more = {pid for pid, parent in parents.items() if parent == os.getpid()}
    while more:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        family = family | more
    return {pid: sessions[pid] for pid in family}


def of_session(session):
    """Of these, the processes of a session. What has a session of its own is none."""
    return [pid for pid, of in descendants().items() if of == session]


def leaves_first():
    """All that descends from this process, as a walk through the tree of processes leaves them."""
    parents, _ = processes()

    def walk(pid):
        for child in sorted(child for child, parent in parents.items() if parent == pid):
            yield from walk(child)
            yield child
    return list(walk(os.getpid()))


def send(pids, signo, pause=0):
    for pid in pids:
        if pause:
            time.sleep(pause)
        try:
            os.kill(pid, signo)
        except ProcessLookupError:
            pass


def run(system, commands, submits, down):
    """Runs the command that this file is called by. `commands` take their words, and return what they print or raise Failed; of
    `submits` the answer may be lost or late. `down(name)` is what a command says when nothing answers, and its exit code."""
    name = os.path.basename(sys.argv[0])
    try:
        answer = commands[name](sys.argv[1:])  # it looks at its words before it calls anybody
        if there("down"):
            raise Failed(*down(name))
        with locked():
            if name in submits and read("refuse"):
                raise Failed(*system.refusal(read("refuse").strip()))
            text = answer()
            system.schedule()
        if name in submits:
            while there("late"):
                time.sleep(0.01)
            if there("lost"):
                raise Failed(*system.lost)
        sys.stdout.write(text or "")
    except Failed as error:
        sys.stdout.write(error.out)
        sys.stdout.flush()
        sys.stderr.write(error.text.rstrip("\n") + "\n" if error.text else "")
        sys.exit(error.code)

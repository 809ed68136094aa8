#!/usr/bin/python3
"""sbatch, squeue and scancel, by the name that this file is called by; the queue is fake_queue.py's.

Made from what the real ones (Slurm 22.05) wrote in docs/design/038-batch-systems.md's recordings: ids by --parsable, lines
"ID|STATE|REASON|NAME" of squeue, exit codes.
"""
import os
import subprocess
import sys
import time

import fake_queue
from fake_queue import CANCELLED, DONE, ENDED, FAILED, HELD, QUEUED, RUNNING, Failed, path, read, state


class Slurm(fake_queue.System):
    lost = ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", 1)
    hold_reason = "JobHeldUser"

    def refusal(self, text):
        return "sbatch: error: Batch job submission failed: " + text, 1

    def launch(self, job):
        env = dict(os.environ, SLURM_JOB_ID=job, SLURM_JOB_NUM_NODES="1", SLURM_CPUS_ON_NODE=fake_queue.cpus())
        if read(job, "limit"):
            env["SLURM_JOB_END_TIME"] = str(int(time.time()) + 60 * int(read(job, "limit")))
        if host := free_host(job):
            fake_queue.write(host, job, "host")
            env["SLURMD_NODENAME"] = host
        output = open(read(job, "output"), "ab")
        return {"args": ["/bin/sh", path(job, "script")], "stdin": subprocess.DEVNULL, "stdout": output, "stderr": output,
                "env": env}

    def matches(self, job):
        return not read("hosts") or free_host(job) is not None


slurm = Slurm()


def free_host(job):
    """The first host that runs no job, and that this one does not exclude. Which hosts there are says the file `hosts`."""
    taken = [read(other, "host") for other in fake_queue.jobs() if state(other) == RUNNING and other != job]
    hosts = [host for host in read("hosts").split() if host not in taken + read(job, "exclude").split(",")]
    return hosts[0] if hosts else None


def sbatch(args):
    script = sys.stdin.read()
    options = {}
    for arg in args:
        name, _, value = arg.partition("=")
        options[name] = value

    def submit():
        if "--test-only" in options:
            raise Failed("sbatch: a site's notice\n"
                         "sbatch: Job 1 to start at 2027-01-01T00:00:00 using 1 processors on nodes n1 in partition p", 0)
        excluded = options.get("--exclude", "")
        if read("hosts") and not set(read("hosts").split()) - set(excluded.split(",")):
            raise Failed("sbatch: error: Batch job submission failed: Requested node configuration is not available")
        job = slurm.add(script=script, name=options["--job-name"], output=options["--output"], limit=options.get("--time", ""),
                        args="\n".join(args), exclude=excluded)
        slurm.change(job, QUEUED, "Priority")
        return job + "\n"
    return submit


def word(job):
    ends = {DONE: "COMPLETED", FAILED: "FAILED", CANCELLED: "CANCELLED"}
    return ends[read(job, "end")] if state(job) == ENDED else {QUEUED: "PENDING", HELD: "PENDING", RUNNING: "RUNNING"}[state(job)]


def squeue(args):
    def look():
        if any(arg.startswith("--jobs=") for arg in args):
            return "INVALID\n"
        lines = ""
        for job in filter(fake_queue.is_known, fake_queue.jobs()):
            reason = "NonZeroExitCode" if word(job) == "FAILED" else read(job, "reason")
            lines += f"{job}|{word(job)}|{reason or 'None'}|{read(job, 'name')}\n"
        return lines
    return look


def scancel(args):
    def cancel():
        for job in args:
            if not job.isdigit() or not state(job):
                raise Failed(f"scancel: error: Kill job error on job id {job}: Invalid job id specified")
            slurm.cancel(job)
    return cancel


def down(name):
    return "slurm_load_jobs error: Unable to contact slurm controller (connect failure)", 1


if __name__ == "__main__":
    fake_queue.run(slurm, {"sbatch": sbatch, "squeue": squeue, "scancel": scancel}, {"sbatch"}, down)

"""Runs the examples of the documents: every ```console block, in one folder for each document. Words are the documents
to run (all).

A line `$ COMMAND` is run by sh; the lines below are its output (standard output, then standard
error). `...` stands for anything: within a line, or as a line of its own for any lines. A last line
`[N]` is the exit code, when it is not 0. A block that begins with ```LANGUAGE NAME is a file of that name.
"""
import glob
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
BIN = os.path.abspath(os.environ.get("SPATE_BIN", os.path.join(SOURCE, "build", "bin")))
PLACES = ("docs/user/*.md", "docs/user/tutorials/*.md", "docs/formats/*.md")
# What the examples of a document call, beside spate itself. Where it is missing they are passed over.
NEEDS = {"docs/user/pmc.md": ("pegasus-mpi-cluster", "mpiexec"),
         "docs/user/master-worker.md": ("mw_hello_world", "mw_search", "mw_best_first", "mw_first_of_many", "mw_nearest",
                                       "mw_unit_test"),
         "docs/user/tutorials/first-master-worker.md": ("mw_monte_carlo_pi",),
         "docs/user/tutorials/first-mpi-job.md": ("mpicc", "mpirun")}
# Programs of examples/mw, as a reader has built them.
EXAMPLES = ("hello_world", "monte_carlo_pi", "search", "best_first", "first_of_many", "nearest", "unit_test")
NOBODY = 65534


def examples(text):
    """(line number, command, expected output) of each command."""
    inside, found = False, []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = line == "```console"
        elif inside and line.startswith("$ "):
            found.append((number, line[2:], []))
        elif inside:
            found[-1][2].append(line)
    return found


def files(text):
    """(name, content) of each file that a document shows."""
    return re.findall(r"^```[a-z]+ (\S+)\n(.*?)^```$", text, re.M | re.S)


def pattern(lines):
    parts = []
    for line in lines:
        if line == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(re.escape(part) for part in line.split("...")) + r"\n")
    return "".join(parts) + r"\Z"


def ordinary_user(folder):
    """Root's tests run the examples as somebody without rights, with a program that they may read."""
    os.mkdir(folder + "/.bin")
    os.mkdir(folder + "/.batch")
    for command in ("sbatch", "squeue", "scancel"):  # a small Slurm
        shutil.copy(f"{SOURCE}/tests/batch/fake_slurm.py", f"{folder}/.bin/{command}")
    shutil.copy(f"{SOURCE}/tests/batch/fake_queue.py", f"{folder}/.bin")
    for example in EXAMPLES:
        if os.path.exists(f"{BIN}/mw_{example}"):
            shutil.copy(f"{BIN}/mw_{example}", f"{folder}/.bin/{example}")
    shutil.copy(f"{SOURCE}/python/spate_resident.py", f"{folder}/.bin")  # in PYTHONPATH
    if os.geteuid() != 0:
        return f"{folder}/.bin:{BIN}", {}
    for program in ("spate", "pegasus-mpi-cluster"):
        if os.path.exists(f"{BIN}/{program}"):
            shutil.copy(f"{BIN}/{program}", folder + "/.bin")
    for path in (folder, folder + "/.bin", folder + "/.batch"):
        os.chown(path, NOBODY, NOBODY)
    return folder + "/.bin", {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def end_daemons(folder):
    """Hubs and nodes that the examples have left; returns when they have gone, since the next document's hub has the same port."""
    left = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                if f"HOME={folder}\0".encode() not in file.read() + b"\0":
                    continue
            left.append(os.pidfd_open(int(path.split("/")[2])))
            signal.pidfd_send_signal(left[-1], signal.SIGTERM)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    for process in left:
        if not select.select([process], [], [], 30)[0]:
            signal.pidfd_send_signal(process, signal.SIGKILL)
        os.close(process)


def run(document):
    failures = 0
    missing = [program for program in NEEDS.get(document, ())
               if not (os.path.exists(f"{BIN}/{program}") or shutil.which(program))]
    if missing:
        print(f"{document}: passed over: there is no {missing[0]}")
        return 0
    with open(os.path.join(SOURCE, document)) as file:
        text = file.read()
    found = examples(text)
    with tempfile.TemporaryDirectory(prefix="spate-docs-") as folder:
        env = {k: v for k, v in os.environ.items() if not k.startswith("SPATE")}
        programs, who = ordinary_user(folder)
        env |= {"PATH": programs + ":" + env["PATH"], "XDG_STATE_HOME": folder + "/.state",
                "HOME": folder, "PYTHONPATH": folder + "/.bin", "LC_ALL": "C.UTF-8", "FAKE_BATCH": folder + "/.batch",
                "OMPI_MCA_rmaps_base_oversubscribe": "1",  # this machine may have few processors
                "OMPI_MCA_btl_tcp_if_exclude": "sppp"}  # and no network but loopback
        for name, content in files(text):
            with open(os.path.join(folder, name), "w") as file:
                file.write(content)
        for number, command, expected in found:
            code = 0
            if expected and re.fullmatch(r"\[\d+\]", expected[-1]):
                code = int(expected.pop()[1:-1])
            done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, timeout=60,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, umask=0o022, **who)
            output = done.stdout + done.stderr
            any_code = done.returncode in (124, 137) and "timeout" in command
            if (done.returncode != code and not any_code) or not re.match(pattern(expected), output):
                failures += 1
                print(f"{document}:{number}: $ {command}\n  exit code {done.returncode}, expected "
                      f"{code}; output:\n{output}  expected:\n" + "\n".join(expected) + "\n")
        end_daemons(folder)
    print(f"{document}: {len(found)} examples, {failures} failures")
    return failures


def documents():
    """Those with examples."""
    for place in PLACES:
        for path in sorted(glob.glob(os.path.join(SOURCE, place))):
            with open(path) as file:
                if "\n```console\n" in file.read():
                    yield os.path.relpath(path, SOURCE)


def code_blocks(document):
    """Those that show a program are its file, which other tests build; as short pieces they are prose."""
    with open(os.path.join(SOURCE, document)) as file:
        blocks = re.findall(r"```cpp\n(.*?)```", file.read(), re.DOTALL)
    failures = 0
    for block in blocks:
        if "#include" not in block:
            continue
        same = False
        for path in glob.glob(os.path.join(SOURCE, "examples", "**", "*.cc"), recursive=True):
            with open(path) as file:
                same = same or file.read() == block
        if not same:
            failures += 1
            print(f"{document}: a program is none of examples/:\n{block}")
    return failures


def main():
    chosen = sys.argv[1:] or list(documents())
    failures = sum(run(document) + code_blocks(document) for document in chosen)
    if len(sys.argv) == 1 and len(chosen) < 14:
        sys.exit("the documents were not found")
    sys.exit(1 if failures else 0)


main()

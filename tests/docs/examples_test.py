"""Runs the examples of the documents: every ```console block, in one folder for each document. Words are the documents
to run (all). Tutorials: tutorials_test.py.

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
PLACES = ("docs/user/*.md", "docs/formats/*.md")
# What the examples of a document call, beside spate itself. Where it is missing they are passed over.
NEEDS = {"docs/user/pmc.md": ("pegasus-mpi-cluster", "mpiexec"),
         "docs/user/master-worker.md": ("mw_hello_world", "mw_search", "mw_best_first", "mw_first_of_many", "mw_nearest",
                                       "mw_unit_test"),
         "docs/user/tutorials/first-master-worker.md": ("g++", "pkg-config", "../lib/libspate_mw.a"),
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


def ordinary_user(folder, examples=EXAMPLES):
    """Root's tests run the examples as somebody without rights, with a program that they may read."""
    os.mkdir(folder + "/.bin")
    os.mkdir(folder + "/.batch")
    for command in ("sbatch", "squeue", "scancel"):  # a small Slurm
        shutil.copy(f"{SOURCE}/tests/batch/fake_slurm.py", f"{folder}/.bin/{command}")
    shutil.copy(f"{SOURCE}/tests/batch/fake_queue.py", f"{folder}/.bin")
    for example in examples:
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
    """Hubs and nodes that the examples have left; returns when they have gone: the next hub has the same port."""
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


def can_run(document):
    missing = [program for program in NEEDS.get(document, ())
               if not (os.path.exists(f"{BIN}/{program}") or shutil.which(program))]
    if missing:
        print(f"{document}: passed over: there is no {missing[0]}")
    return not missing


def read(document):
    with open(os.path.join(SOURCE, document)) as file:
        return file.read()


def environment(folder, programs):
    """That of a reader whose home it is."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("SPATE")}
    return env | {"PATH": programs + ":" + env["PATH"], "XDG_STATE_HOME": folder + "/.state",
                  "HOME": folder, "PYTHONPATH": folder + "/.bin", "LC_ALL": "C.UTF-8", "FAKE_BATCH": folder + "/.batch",
                  "OMPI_MCA_rmaps_base_oversubscribe": "1",  # this machine may have few processors
                  "OMPI_MCA_btl_tcp_if_exclude": "sppp"}  # and no network but loopback


def write_files(text, folder):
    for name, content in files(text):
        with open(os.path.join(folder, name), "w") as file:
            file.write(content)


def is_as_shown(place, command, expected, done):
    """`done`: exit code and output. Tells what differs."""
    code, output = done
    shown = 0
    if expected and re.fullmatch(r"\[\d+\]", expected[-1]):
        shown = int(expected.pop()[1:-1])
    any_code = code in (124, 137) and "timeout" in command
    if (code == shown or any_code) and re.match(pattern(expected), output):
        return True
    print(f"{place}: $ {command}\n  exit code {code}, expected {shown}; output:\n{output}  expected:\n" +
          "\n".join(expected) + "\n")
    return False


def run(document):
    failures = 0
    if not can_run(document):
        return 0
    text = read(document)
    found = examples(text)
    with tempfile.TemporaryDirectory(prefix="spate-docs-") as folder:
        programs, who = ordinary_user(folder)
        env = environment(folder, programs)
        write_files(text, folder)
        for number, command, expected in found:
            done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, timeout=60,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, umask=0o022, **who)
            if not is_as_shown(f"{document}:{number}", command, expected, (done.returncode, done.stdout + done.stderr)):
                failures += 1
        end_daemons(folder)
    print(f"{document}: {len(found)} examples, {failures} failures")
    return failures


def documents():
    """Those with examples."""
    for place in PLACES:
        for path in sorted(glob.glob(os.path.join(SOURCE, place))):
            if "\n```console\n" in read(path):
                yield os.path.relpath(path, SOURCE)


def code_blocks(document):
    """Those that show a program are its file, which other tests build; as short pieces they are prose."""
    blocks = re.findall(r"```cpp[^\n]*\n(.*?)```", read(document), re.DOTALL)
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
    if len(sys.argv) == 1 and len(chosen) < 9:
        sys.exit("the documents were not found")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

"""Runs the examples of the documents: every ```console block, in one folder for each document.

A line `$ COMMAND` is run by sh; the lines below are its output (standard output, then standard
error). `...` stands for anything: within a line, or as a line of its own for any lines. A last line
`[N]` is the exit code, when it is not 0.
"""
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
BIN = os.path.abspath(os.environ.get("SPATE_BIN", os.path.join(SOURCE, "build", "bin")))
DOCUMENTS = ["docs/guide.md"]


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


def pattern(lines):
    parts = []
    for line in lines:
        if line == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(re.escape(part) for part in line.split("...")) + r"\n")
    return "".join(parts) + r"\Z"


def run(document):
    failures = 0
    with open(os.path.join(SOURCE, document)) as file:
        found = examples(file.read())
    with tempfile.TemporaryDirectory(prefix="spate-docs-") as folder:
        env = {k: v for k, v in os.environ.items() if not k.startswith("SPATE")}
        env |= {"PATH": BIN + ":" + env["PATH"], "XDG_STATE_HOME": folder + "/.state",
                "HOME": folder, "LC_ALL": "C.UTF-8"}
        for number, command, expected in found:
            code = 0
            if expected and re.fullmatch(r"\[\d+\]", expected[-1]):
                code = int(expected.pop()[1:-1])
            done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, timeout=60,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
            output = done.stdout + done.stderr
            any_code = done.returncode in (124, 137) and "timeout" in command
            if (done.returncode != code and not any_code) or not re.match(pattern(expected), output):
                failures += 1
                print(f"{document}:{number}: $ {command}\n  exit code {done.returncode}, expected "
                      f"{code}; output:\n{output}  expected:\n" + "\n".join(expected) + "\n")
    print(f"{document}: {len(found)} examples, {failures} failures")
    return failures + (not found)


sys.exit(1 if sum(run(document) for document in DOCUMENTS) else 0)

"""The tutorials as a reader does them: in the order of the catalogue, in one home that was empty, each in one shell, every
block, word for word. The rules for output: examples_test.py. Words are the tutorials to run (all).
"""
import os
import re
import select
import signal
import subprocess
import sys
import tempfile

from examples_test import (BIN, SOURCE, can_run, code_blocks, end_daemons, environment, examples, is_as_shown, ordinary_user,
                           read, write_files)

FOLDER = "docs/user/tutorials"
LIMIT = 60  # seconds for a command


def catalogue():
    """Its tutorials, in its order; that it has all of them, catalogue_test.py checks."""
    return ["docs/" + path for path in re.findall(r"^\| \[.*?\]\((user/tutorials/.*?\.md)\)", read("docs/README.md"), re.M)]


class Shell:
    """A bash that gets one command after the other, as at a prompt, but for the terminal."""

    def __init__(self, folder, env, who):
        self.status, self.status_in = os.pipe()
        self.place = tempfile.mkdtemp(dir=folder, prefix=".shell-")
        if "user" in who:
            os.chown(self.place, who["user"], who["group"])
        self.process = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, cwd=folder, env=env, pass_fds=(self.status_in,), umask=0o022,
                                        start_new_session=True, text=True, **who)
        os.close(self.status_in)

    def run(self, command):
        """(exit code, output). None: it takes too long, or has ended the shell."""
        with open(f"{self.place}/command", "w") as file:
            file.write(command + "\n")
        self.process.stdin.write(f". {self.place}/command >{self.place}/out 2>{self.place}/err </dev/null; "
                                 f"echo $? >&{self.status_in}\n")
        self.process.stdin.flush()
        ready = select.select([self.status], [], [], LIMIT)[0]
        code = os.read(self.status, 16) if ready else b""
        output = ""
        for name in ("out", "err"):
            with open(f"{self.place}/{name}", errors="replace") as file:
                output += file.read()
        return (int(code) if code else None), output

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # with what runs in the background
        except ProcessLookupError:
            pass
        self.process.stdin.close()
        self.process.wait()
        os.close(self.status)


def run(document, folder, env, who):
    """How many of its commands fail: one at most, as the next ones build on it."""
    text = read(document)
    for first in re.findall(r"^```.*", text, re.M)[::2]:
        if not re.fullmatch(r"```(console|[a-z]+ \S+)", first):
            print(f"{document}: a block that no test runs, {first}: write ```console, or ```LANGUAGE FILE")
            return 1
    write_files(text, folder)
    found = examples(text)
    shell = Shell(folder, env, who)
    try:
        for number, command, expected in found:
            if not is_as_shown(f"{document}:{number}", command, expected, shell.run(command)):
                return 1
    finally:
        shell.end()
    print(f"{document}: {len(found)} examples")
    return 0


def main():
    chosen = sys.argv[1:] or catalogue()
    failures = 0
    with tempfile.TemporaryDirectory(prefix="spate-tutorials-") as folder:
        programs, who = ordinary_user(folder, examples=())
        env = environment(folder, programs)
        # "An installed Spate": with its library.
        subprocess.run(["cmake", "--install", os.path.dirname(BIN), "--component", "library", "--prefix", f"{folder}/.local"],
                       check=True, stdout=subprocess.DEVNULL)
        found = subprocess.run(["find", f"{folder}/.local", "-name", "pkgconfig"], check=True, capture_output=True, text=True)
        env["PKG_CONFIG_PATH"] = found.stdout.strip()
        try:
            for document in chosen:
                failures += code_blocks(document)
                if can_run(document):
                    failures += run(document, folder, env, who)
        finally:
            end_daemons(folder)
    if len(sys.argv) == 1 and len(chosen) < 6:
        sys.exit("the tutorials were not found")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

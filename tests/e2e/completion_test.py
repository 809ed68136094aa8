"""The shells' completions know jobs, nodes and the commands of Parasol. Shells that are not here are skipped."""
import contextlib
import fcntl
import os
import pty
import shutil
import subprocess
import termios
import threading

from cluster import cluster_of
from harness import DEADLINE, SPATE, Place, main, wait, want


def script(place, shell):
    path = os.path.join(place.dir, f"completion.{shell}")
    with open(path, "w") as out:
        subprocess.run([SPATE, "completion", shell], stdout=out, check=True)
    return path


def shell_run(place, *argv):
    env = dict(place.env, PATH=os.path.dirname(SPATE) + ":" + place.env["PATH"])
    done = subprocess.run(argv, cwd=place.dir, env=env, stdin=subprocess.DEVNULL, timeout=DEADLINE,
                          capture_output=True, text=True)
    want(done.stderr == "", f"{argv}: {done.stderr}")
    return done.stdout.split()


def bash(place, *words):
    """What bash offers for the last word; words are split as readline does it."""
    quoted = " ".join("'" + word + "'" for word in words)
    return shell_run(place, "bash", "-c", f". {script(place, 'bash')}; COMP_WORDS=({quoted}); "
                     f"COMP_CWORD={len(words) - 1}; _spate; echo ${{COMPREPLY[*]}}")


def zsh(place, *words):
    quoted = " ".join("'" + word + "'" for word in words)
    stubs = "compadd() { local -a o; zparseopts -D -a o V: S: d: l; print -- \"${@:#--}\" }; _files() { print FILES }"
    return shell_run(place, "zsh", "-f", "-c", f"{stubs}; words=({quoted}); CURRENT={len(words)}; "
                     f". {script(place, 'zsh')}")


def fish(place, *words):
    line = " ".join(words)
    out = shell_run(place, "fish", "--no-config", "-c",
                    f"source {script(place, 'fish')}; complete -C '{line}' | cut -f1")
    return out


def shells():
    for name, function in (("bash", bash), ("zsh", zsh), ("fish", fish)):
        if shutil.which(name):
            yield function
        else:
            print(f"       (without {name}: it is not here)")


def some(offered, *expected, but=()):
    want(set(expected) <= set(offered) and not set(but) & set(offered), str(offered))


def test_numbers_of_this_machines_runs(place: Place):
    for _ in range(3):
        place.run("-q", "--", "true")
    for shell in shells():
        some(shell(place, "spate", "job", "info", ""), "1", "2", "3", "last")
        some(shell(place, "spate", "job", "info", "--state", "elsewhere", ""), "last", but=["1"])
        some(shell(place, "spate", "task", "info", ""), "1.", "3.", "last.")
        some(shell(place, "spate", "job", "cancel", ""), "last", but=["1", "2", "3"])


def test_numbers_of_a_hubs_jobs_and_its_nodes(place: Place):
    place.run("-q", "--", "true")
    place.run("-q", "--", "true")
    cluster = cluster_of(place)
    cluster.node("n1")
    job = cluster.submit("--wait", "--", "true")
    want(job == "1", job)
    waits = cluster.submit("--open", "--", "true", ":::", "a")
    for shell in shells():
        offered = shell(place, "spate", "job", "info", "")
        some(offered, job, waits)
        some(shell(place, "spate", "job", "close", ""), waits, but=[job])
        some(shell(place, "spate", "node", "drain", ""), "n1")
        place.run("-q", "--", "true")
    cluster.spate("job close", waits)
    for shell in shells():
        some(shell(place, "spate", "job", "info", "--local", ""), "3")
        some(shell(place, "spate", "job", "info", ""), but=["3"])


def test_options_and_their_values(place: Place):
    for shell in shells():
        some(shell(place, "spate", "run", "--keep-"), "--keep-order", "--keep-output")
        some(shell(place, "spate", "run", "--output", ""), "human", "json", "quiet")
        some(shell(place, "spate", "job", "re"), "retry", "release")
        some(shell(place, "spate", "pool", "add", ""), "slurm", "ssh")


EVIL = "evil$(touch${IFS}ran)x"
SPATE_OF_OTHERS = f"""#!/bin/sh
[ "$*" = "__complete node drain ev" ] && exec printf '%s\\n' '{EVIL}'
[ "$1" = __complete ] && exec echo :files
printf '%s\\n' "$@" >typed.new && mv typed.new typed
"""
INTERACTIVE = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"],
               "fish": ["fish", "--no-config", "-i"]}


def typed_in(place, shell, typed):
    """The words that the shell runs when somebody types this, with its completion, at a terminal."""
    read_script = f"source {script(place, shell)}"
    if shell == "zsh":  # it is a function of its folder
        os.replace(script(place, shell), f"{place.dir}/_spate")
        read_script = f"fpath=({place.dir} $fpath) && autoload -U compinit && compinit -u -D"
    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(place.dir, "typed"))
    master, slave = pty.openpty()
    env = dict(place.env, PATH=place.dir + "/bin:" + place.env["PATH"], TERM="xterm", HOME=place.dir)
    process = subprocess.Popen(INTERACTIVE[shell], cwd=place.dir, env=env, stdin=slave, stdout=slave, stderr=slave,
                               start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    shown = []

    def read():
        with contextlib.suppress(OSError):
            while text := os.read(master, 4096):
                shown.append(text.decode(errors="replace"))
    reader = threading.Thread(target=read)
    reader.start()
    try:
        os.write(master, f"{read_script} && touch ready.{shell}\r".encode())
        wait(lambda: os.path.exists(f"{place.dir}/ready.{shell}"), (f"{shell} starts", shown))
        os.write(master, f"{typed}\r".encode())
        wait(lambda: os.path.exists(f"{place.dir}/typed"), (f"{shell} runs it", shown))
    finally:
        process.kill()
        process.wait()
        reader.join()
        os.close(master)
    return place.lines("typed")


def test_names_that_a_shell_would_run_are_quoted(place: Place):
    os.mkdir(place.dir + "/bin")
    place.write("bin/spate", SPATE_OF_OTHERS)
    os.chmod(place.dir + "/bin/spate", 0o755)
    place.write("file$(touch${IFS}ran)y")
    for shell in INTERACTIVE:
        if not shutil.which(shell):
            print(f"       (without {shell}: it is not here)")
            continue
        for begin, name in (("ev", EVIL), ("fi", "file$(touch${IFS}ran)y")):
            words = typed_in(place, shell, f"spate node drain {begin}\t")
            want(not os.path.exists(f"{place.dir}/ran"), f"{shell} runs the name {name}")
            want(words == ["node", "drain", name], f"{shell}: {words}")


def test_programs_of_parasol(place: Place):
    place.write("jobs.lst", "true")
    for shell in shells():
        some(shell(place, "spate", "par"), "para", "parasol", "paraNodeStart")
        for before in ((), ("spate",)):
            some(shell(place, *before, "para", "s"), "shove", "stop", "status", but=["list", "creat"])
            some(shell(place, *before, "parasol", ""), "list", "add", "status")
            some(shell(place, *before, "parasol", "list", ""), "machines", "users", but=["spoke"])


if __name__ == "__main__":
    main(globals())

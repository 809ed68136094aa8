"""The shells' completions know jobs, nodes and the commands of Parasol. Shells that are not here are skipped."""
import os
import shutil
import subprocess

from cluster import cluster_of
from harness import DEADLINE, SPATE, Place, main, want


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

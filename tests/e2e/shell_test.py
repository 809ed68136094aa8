"""Lines that need a shell run in bash: what users type there does here what it does in a terminal."""
import os
import subprocess

from cluster import cluster_of
from harness import DEADLINE, SPATE, Place, main, wait, want

# A line of bash, and what it prints.
LINES = [("[[ abc == a* ]] && echo match", "match"),
         ("a=(x 'y z'); echo ${#a[@]} ${a[1]}", "2 y z"),
         ("cat <(echo piped) <<< ignored", "piped"),
         ("echo {1..3} ${HOME:0:1}", "1 2 3 /"),
         ("source ./env.sh; echo $OF_THE_FILE", "sourced"),
         ("source env.sh", ""),
         ("echo '\\t'", "\\t"),
         ("bash -c 'exit 0' &> log; [[ -e log ]] && echo logged", "logged"),
         ("echo plain", "plain")]


def without_bash(place):
    """Words before a command that run it where no bash can be started; None: that is not allowed here."""
    place.write("no-bash")
    empty = os.path.join(place.dir, "no-bash")
    files = {os.path.realpath(os.path.join(folder, "bash")) for folder in ["/bin", *os.get_exec_path(place.env)]}
    mounts = "".join(f"mount --bind {empty} {file} && " for file in sorted(files) if os.path.exists(file))
    words = ["unshare", "-m", "sh", "-c", f'{mounts}exec "$@"', "sh"]
    if os.path.realpath("/bin/sh") in files or subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
        print("       (skipped: may not mount, or /bin/sh is bash)")
        return None
    return words


def there(place, words, *typed, code=0):
    """Runs spate behind these words; its output and messages."""
    done = subprocess.run([*words, SPATE, *typed], cwd=place.dir, env=place.env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=DEADLINE, check=False)
    want(done.returncode == code, (typed, done))
    return done.stdout, done.stderr


def lists(place):
    place.write("env.sh", "OF_THE_FILE=sourced")
    place.write("jobs.lst", *(line for line, _ in LINES))


def test_lines_run_in_bash(place: Place):
    lists(place)
    wanted = "".join(text + "\n" for _, text in LINES if text)
    out, err = place.run("-k", "jobs.lst")
    want(out == wanted and "/bin/sh" not in err, (out, err))
    out, _ = place.run("-q", "--", "echo $0", ":::", "a")
    want(out == "/bin/bash a\n", out)
    out, _ = place.run("-q", "-k", "--follow-until", "END", "-", stdin=b"echo <(:) | grep -c dev\nEND\n")
    want(out == "1\n", out)
    out, _ = place.run("-q", "--pipe", "--", "mapfile -t a; echo ${#a[@]}", stdin=b"x\ny\n")
    want(out == "2\n", out)
    out, _ = place.run("--fg", "--", "[[ a == a ]] && echo $((2**5))", command="sem")
    want(out == "32\n", out)
    # A shell that was typed is believed.
    out, _ = place.run("-q", "--shell", "/bin/sh", "--", "echo $0")
    want(out == "/bin/sh\n", out)
    place.run("-q", "--shell", "/bin/sh", "--", "echo a &> log")


def test_a_plain_command_has_no_shell(place: Place):
    """BASH_ENV, which bash reads for each task, shows whether there was one."""
    place.write("rc", "echo read >> began")
    place.env["BASH_ENV"] = os.path.join(place.dir, "rc")
    place.run("-q", "--", "echo {}", ":::", "a", "b")
    want(place.lines("began") == [], place.read("began"))
    place.run("-q", "--", "echo {};", ":::", "a", "b")
    want(place.lines("began") == ["read"] * 2, place.read("began"))


def test_a_machine_without_bash(place: Place):
    words = without_bash(place)
    if words is None:
        return
    lists(place)
    said = "spate: this machine has no bash, so /bin/sh runs the lines that need a shell\n"
    out, err = there(place, words, "run", "-k", "--", "echo {}; echo $0", ":::", "a", "b")
    want(out.count("/bin/sh") == 2 and err.count(said) == 1, (out, err))
    for typed in (["run", "-k", "--", "echo", "{}", ":::", "a", "b"], ["run", "--shell", "/bin/sh", "--", "echo a;"],
                  ["run", "-q", "--", "echo a;"]):
        _, err = there(place, words, *typed)
        want(said not in err, (typed, err))
    _, err = there(place, words, "sem", "--fg", "--", "echo $0;")
    want(said in err, err)
    # The shell is recorded: a job's tasks have it wherever they run again.
    place.write("two.lst", "echo $0 >> ran; false", "echo $0 >> ran; false")
    there(place, words, "run", "two.lst", code=1)
    place.run("last", command="job retry", code=1)
    want(place.lines("ran") == ["/bin/sh"] * 4, place.read("ran"))
    place.run("two.lst", code=1)
    _, err = there(place, words, "job", "retry", "last", code=2)
    want("run in bash, as recorded when it was made, but this machine has no bash" in err
         and "nothing was started" in err, err)
    want(place.lines("ran")[4:] == ["/bin/bash"] * 2, place.read("ran"))


def test_a_node_without_bash_gets_no_such_task(place: Place):
    words = without_bash(place)
    if words is None:
        return
    lists(place)
    cluster = cluster_of(place)
    cluster.node("bare", "-j", "2", inside=words)
    want("no bash: lines that need it run on other nodes" in place.read("bare.log"), place.read("bare.log"))
    plain = cluster.submit("--wait", "--", "echo", "{}", ":::", "a").split()[0]
    named = cluster.submit("--wait", "--shell", "/bin/sh", "--", "echo $0", ":::", "a").split()[0]
    want(cluster.spate("job cat", plain)[0] == "a\n", plain)
    want(cluster.spate("job cat", named)[0].startswith("/bin/sh"), named)
    waiting = [cluster.submit("jobs.lst"), cluster.submit("--", "[[ {} == a ]] && echo {}", ":::", "a")]
    later = cluster.submit("--open", "--", "true", ":::", "a")
    cluster.spate("job add", later, "--", "true", ":::", "b")
    wait(lambda: "needs a node with bash; bare does not have it" in cluster.spate("job info", waiting[0])[0], "told")
    want("bash" not in cluster.spate("node info", "bare")[0], "features")
    cluster.spate("job close", later)
    cluster.spate("job wait", later)
    cluster.node("full", "-j", "2")
    want("bash" in cluster.spate("node info", "full")[0], "features")
    for job in waiting:
        cluster.spate("job wait", job)
    out, _ = cluster.spate("job cat", waiting[0])
    want(sorted(out.splitlines()) == sorted(text for _, text in LINES if text), out)


if __name__ == "__main__":
    main(globals())

"""Where a hub listens, and what it says of it; when commands pass it over."""
import os
import re
import shlex
import signal
import socket
import time

from harness import Place, alive, main, wait, want


def test_a_hub_listens_where_it_is_told(place: Place):
    """Nowhere without --listen; and one that others reached is not started without it."""
    start = ("--daemon", "--allow-root")
    _, err = place.run(*start, command="hub start")
    want("other machines cannot reach this hub" in err, err)
    out, _ = place.run(command="hub status")
    want("127.0.0.1" not in out and not os.path.exists(f"{place.state}/hub/node.access"), out)
    _, err = place.run("add", "--role", "node", command="hub access", code=3)
    want("--listen '*'" in err, err)
    place.run(command="hub stop")
    place.run(*start, "--listen", "127.0.0.1:0", command="hub start")
    place.run(command="hub stop")
    _, err = place.run(*start, command="hub start", code=2)
    want("node.access exists" in err and "To exclude other machines: --listen none" in err, err)
    # The line works as it stands.
    again = re.search(r"Start it as before: spate (hub start .*--listen=127.0.0.1:0.*)\nTo exclude other machines: --listen none", err)
    want(again, err)
    place.run(*shlex.split(again[1])[2:], command="hub start")
    place.run(command="hub stop")
    # Said once.
    place.run(*start, "--listen", "none", command="hub start")
    place.run(command="hub stop")
    for _ in range(2):
        place.run(*start, command="hub start")
        place.run(command="hub stop")


def test_a_hub_at_rest_is_passed_over(place: Place):
    """One that was stopped with all of its jobs ended; any other one is asked for. And it can be removed."""
    def hub(command, *words, **more):
        return place.run(*words, command=f"hub {command}", **more)

    def start():
        hub("start", "--daemon", "--allow-root")
        with open(f"{folder}/lock", encoding="utf-8") as file:
            return int(re.search(r"pid=(\d+)", file.read())[1])

    def stop(pid):
        hub("stop")
        wait(lambda: not alive(pid), "it has stopped")

    folder = f"{place.state}/hub"
    place.on_remove = lambda: hub("stop", code=None)
    place.run("--", "echo", "mine")
    pid = start()
    _, err = hub("remove", code=3)
    want("is run by process" in err and "spate hub stop" in err, err)
    place.run("--", "true", command="submit")
    stop(pid)
    # Its job waits for a node.
    _, err = place.run(command="job list", code=3)
    want("your hub does not run" in err, err)
    _, err = hub("remove", code=3)
    want("1 unfinished job" in err and "spate job cancel" in err and os.path.exists(f"{folder}/hub.db"), err)
    pid = start()
    place.run("all", command="job cancel")
    place.run("last", command="job wait", code=1)
    stop(pid)
    for command, out_has in (("job list", "echo mine"), ("job cat last", "mine"), ("job retry last", ""), ("job wait last", "")):
        out, err = place.run(command=command)
        told = [line for line in err.splitlines() if "is stopped and has no unfinished jobs" in line]
        want(out_has in out and len(told) == 1 and folder in told[0] and "spate hub remove" in told[0], (command, out, err))
    want(place.run("-q", command="job list")[1] == "", "quiet commands say nothing")
    want("your hub does not run" in place.run("--hub", command="job list", code=3)[1], "it is asked for")
    # It is back when it runs, and when it was killed.
    pid = start()
    want("mine" not in place.run("--json", command="job list")[0], "the hub's jobs")
    os.kill(pid, signal.SIGKILL)
    wait(lambda: not alive(pid), "it is killed")
    place.run(command="job list", code=3)
    _, err = hub("remove")
    want("1 job with" in err and not os.path.exists(folder), err)
    want("mine" in place.run("last", command="job cat")[0], "runs stay")
    want("there is no hub" in hub("remove", code=2)[1], "it is gone")


def test_a_second_hub_of_a_machine_takes_another_port(place: Place):
    """And keeps it, as its access files name it."""
    start = ("--daemon", "--allow-root", "--listen", "127.0.0.1")
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", 18150))
            other.listen()
        except OSError:
            pass  # somebody else has it
        place.on_remove = lambda: place.run(command="hub stop", code=None)
        _, err = place.run(*start, command="hub start")
        told = re.search(r"port 18150 is taken, .* reached at port (\d+)", err)
        want(told, err)
        access = place.read(os.path.join(place.state, "hub", "node.access"))
        want(f"127.0.0.1:{told[1]}" in access, access)
        place.run(command="hub stop")
    _, err = place.run(*start, command="hub start")
    want("is taken" not in err and f"at port {told[1]}" in err and f":{told[1]}" in place.run(command="hub status")[0], err)
    # A port that was typed is no other one.
    place.run(command="hub stop")
    with listener(int(told[1])):
        place.run(*start, code=3, command="hub start")


def listener(port):
    """At this port, as soon as the hub that was stopped has let it go, if nobody else has it then."""
    until = time.monotonic() + 10
    while True:
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError:
            if time.monotonic() > until:
                return socket.socket()
        time.sleep(0.02)


if __name__ == "__main__":
    main(globals())

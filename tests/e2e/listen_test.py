"""Where a hub listens, and what it says of it."""
import os
import re
import socket

from harness import Place, main, want


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
    want("node.access exists" in err and "--listen none cuts them off" in err, err)
    place.run(*start, "--listen", "none", command="hub start")
    place.run(command="hub stop")


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
    with socket.create_server(("127.0.0.1", int(told[1]))):
        place.run(*start, code=3, command="hub start")


if __name__ == "__main__":
    main(globals())

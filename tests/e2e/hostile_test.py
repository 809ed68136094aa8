"""Peers that mean harm, or are broken: the hub answers others within a second, and does not grow."""
import os
import re
import resource
import socket
import ssl
import subprocess
import threading

from harness import DEADLINE, SPATE, Place, main, wait, want
from peer import (GREETING, LIST_NODES, LIST_TASKS, LOOK_AT_HUB, REFUSAL, REPLY, REQUEST, Hub, Peer, ask, frame, greeting, local, message, raw, rows,
                  submit, submit_end, tls)

# ---- Before the entrance ------------------------------------------------------------------------------

IDLERS = """
import resource, socket, sys
port, count = int(sys.argv[1]), int(sys.argv[2])
kept = []
for _ in range(count):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(("127.0.0.1", port))
    kept.append(s)
print("ready", flush=True)
sys.stdin.read()
"""


def test_ten_thousand_silent_connections(place: Place):
    hub = Hub(place)
    access = hub.cluster.access("--role", "client", "--user", "ada", name="ada.access")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    each = min(1000, most - 50)
    idlers = [subprocess.Popen(["python3", "-c", IDLERS, str(hub.port), str(each)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
              for _ in range(10_000 // each)]
    try:
        for idler in idlers:
            want(idler.stdout.readline() == b"ready\n", "an attacker failed")
        hub.check()
        # Whoever has something to say is heard in the end, as the silent ones must give way.
        wait(lambda: subprocess.run([SPATE, "job", "list", "--access", access], cwd=place.dir,
                                    env=place.env, capture_output=True).returncode == 0,
             "a client gets in")
        hub.check()
    finally:
        for idler in idlers:
            idler.communicate()


def test_garbage_and_long_frames(place: Place):
    hub = Hub(place)
    before = hub.status()["breaches"]
    attacks = [b"\xff\xff\xff\xff\x01", b"\xff\xff\xff\x7f\x08" + b"x" * 1000, b"\0\0\0\0\x01",
               b"GET / HTTP/1.1\r\n\r\n", frame(GREETING, b"\xff" * 100),
               frame(REQUEST, b"before any greeting"), frame(77, b"?"),
               frame(GREETING, b"x" * 20_000)]
    for attack in attacks:
        want("?" not in raw(hub).send(attack).refusal(), "no reason")
        tls(hub).send(attack).refusal()
    want(hub.status()["breaches"] == before + 2 * len(attacks), hub.status())
    # Not even TLS.
    for attack in (b"SSH-2.0-x\r\n", os.urandom(5000)):
        connection = socket.create_connection(("127.0.0.1", hub.port))
        connection.sendall(attack)
        connection.settimeout(DEADLINE)
        try:
            while connection.recv(4096):
                pass
        except ConnectionError:
            pass
    hub.check()


def test_an_old_protocol_is_told_what_to_use(place: Place):
    hub = Hub(place)
    for peer in (raw(hub), tls(hub)):
        reason = peer.send(greeting(newest=900, oldest=900)).refusal()
        want("speak 900 to 900" in reason, reason)
    for peer in (raw(hub), tls(hub)):
        reason = peer.send(greeting(newest=2, oldest=2)).refusal()
        want("speaks protocols 3 to 3" in reason and "you are spate evil and speak 2 to 2" in reason, reason)
        want("use the same release" in reason, reason)
    reason = raw(hub).send(greeting(role=1, newest=2, oldest=2, name=b"n2")).refusal()
    want("speaks protocols 3 to 3" in reason and "use the same release" in reason, reason)


def test_nobody_enters_tls_without_a_credential(place: Place):
    hub = Hub(place)
    for role in (1, 2, 3):
        body = {1: b"evil", 2: 3, 3: 3, 4: role, 8: b"n1", 9: b"i" * 16}
        reason = tls(hub).send(frame(GREETING, message(body))).refusal()
        want("credential" in reason, reason)
        forged = message(body | {5: 1, 6: b"n" * 32, 7: b"p" * 32})
        reason = tls(hub).send(frame(GREETING, forged)).refusal()
        want("does not know this access" in reason, reason)


def test_a_replayed_greeting_proves_nothing(place: Place):
    """Even whoever has stolen the hub's key cannot pass on what a client says to it."""
    hub = Hub(place)
    access = hub.cluster.access("--role", "admin", name="admin.access")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(hub.cluster.hub_dir, "key.pem"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        with open(access) as file:
            text = file.read().replace(f":{hub.port}", f":{server.getsockname()[1]}")
        place.write("false.access", text)
        os.chmod(os.path.join(place.dir, "false.access"), 0o600)
        client = subprocess.Popen([SPATE, "job", "list", "--access", "false.access"],
                                  cwd=place.dir, env=place.env, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        server.settimeout(DEADLINE)
        victim = Peer(context.wrap_socket(server.accept()[0], server_side=True))
        heard = victim.frame()
        want(heard[0] == GREETING, heard)
        client.kill()
        client.wait()
    reason = tls(hub).send(frame(*heard)).refusal()
    want("does not know this access" in reason, reason)
    hub.cluster.spate("job list", "--access", access)  # which is good in itself


def test_expired_and_revoked_access_is_refused(place: Place):
    hub = Hub(place)
    short = hub.cluster.access("--role", "client", "--user", "ada", "--expires", "1s",
                               name="short.access")
    # The client would not even try with what its file says; the hub goes by its own notes.
    with open(short) as file:
        text = re.sub(r"expires = .*", "expires = never", file.read())
    place.write("short.access", text)
    def refused():
        done = subprocess.run([SPATE, "job", "list", "--access", short], cwd=place.dir,
                              env=place.env, capture_output=True, timeout=DEADLINE)
        return done.returncode == 3 and b"expired" in done.stderr
    wait(refused, "the access has expired")
    node = hub.cluster.access("--role", "node", name="node.access")
    hub.cluster.node("n1", "--access", node)
    serial = re.search(r"serial = (\d+)", place.read("node.access")).group(1)
    hub.cluster.spate("hub access", "revoke", serial)
    wait(lambda: "refuses this node" in place.read("n1.log"), "the node is told")
    wait(lambda: hub.status()["nodes"] == 0, "it is out")


# ---- Behind the entrance ------------------------------------------------------------------------------

def test_rows_that_are_too_long(place: Place):
    hub = Hub(place)
    reason = local(hub).send(submit(b"long"), rows(b"x" * ((16 << 20) - 64))).refusal()
    want("rows" in reason, reason)
    # The same through our own program: told before anything is sent.
    place.write("long.lst", "echo " + "x" * (16 << 20))
    _, err = place.run("long.lst", command="submit", code=2)
    want("long.lst" in err, err)
    hub.check()
    want(hub.status()["jobs"] == 0, "a job of nothing")


def test_a_flood_of_rows_waits_for_the_disk(place: Place):
    hub = Hub(place)
    peer = local(hub).send(submit(b"flood"))
    line = rows(*[b"true " + b"x" * 95] * 50_000)
    flood = threading.Thread(target=lambda: peer.send(*[line] * 20), daemon=True)
    flood.start()
    while flood.is_alive():
        hub.check()
        flood.join(0.2)
    peer.send(submit_end(1_000_000))
    want(peer.frame()[0] == REPLY, "not accepted")
    want(hub.status()["queued"] == 1_000_000, hub.status())
    hub.check()


def test_a_client_that_asks_and_never_reads(place: Place):
    hub = Hub(place)
    hub.cluster.submit("--", "true", ":::", *map(str, range(100)))
    peer = local(hub)
    asking = ask(LIST_NODES, {}) + ask(LOOK_AT_HUB, {}) + frame(REQUEST, message({5: message({1: 1})}))
    try:
        for _ in range(100):
            peer.send(asking * 2000)
            hub.check()
    except (ConnectionError, TimeoutError):
        pass  # it was cut off, or is not read any more
    hub.check()
    # A long answer from the journal waits for its reader.
    slow = [local(hub).send(ask(LIST_TASKS, {1: message({1: message({1: 1})})})) for _ in range(40)]
    hub.check()
    for each in slow:
        each.connection.close()
    hub.cluster.spate("job tasks", "1")


def test_a_submission_in_two_halves_is_one_job(place: Place):
    """The end of the first try comes when the second try has begun."""
    hub = Hub(place)
    first = local(hub).send(submit(b"once"), rows(b"true"))
    wait(lambda: hub.status()["clients"] == 2, "the first is heard")
    second = local(hub).send(submit(b"once"), rows(b"true"))
    wait(lambda: hub.status()["clients"] == 3, "so is the second")
    first.send(submit_end(1))
    answer = first.frame()
    second.send(submit_end(1))
    again = second.frame()
    want(answer[0] == again[0] == REPLY, f"{answer} {again}")
    want(hub.status()["jobs"] == 1, "two jobs of one submission")


def test_an_upload_that_is_given_up_leaves_nothing(place: Place):
    hub = Hub(place)
    peer = local(hub).send(submit(b"half"), *[rows(*[os.urandom(1000).hex().encode()] * 500)] * 20)
    wait(lambda: hub.status()["clients"] == 2, "it is heard")
    peer.connection.close()
    wait(lambda: hub.status()["clients"] == 1, "it has gone")
    hub.cluster.kill_hub()
    hub.cluster.start_hub()
    want(hub.status()["jobs"] == 0, "half a job was taken")


def test_without_descriptors_others_are_told_to_wait(place: Place):
    hub = Hub(place, files=64)
    peers = []
    told = None
    for _ in range(64):
        peer = raw(hub).send(greeting())
        got = peer.frame()
        peers.append(peer)
        if got is None or got[0] == REFUSAL:
            told = got
            break
    want(told and b"open files" in told[1], told)
    done = subprocess.run([SPATE, "hub", "status"], cwd=place.dir, env=place.env,
                          capture_output=True, timeout=DEADLINE)
    want(done.returncode == 3 and b"try again later" in done.stderr, done)
    for each in peers:
        each.connection.close()
    wait(lambda: subprocess.run([SPATE, "hub", "status"], cwd=place.dir, env=place.env,
                                capture_output=True).returncode == 0, "there is room again")
    # A hub that lost no task over it.
    hub.cluster.node("n1")
    hub.cluster.submit("--wait", "--", "true")


def test_a_want_of_descriptors_is_logged_once(place: Place):
    hub = Hub(place)
    pid = hub.cluster.hub.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    for round_ in range(3):
        taken = set(map(int, os.listdir(f"/proc/{pid}/fd")))
        free = next(fd for fd in range(len(taken) + 1) if fd not in taken)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, before[1]))
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(os.path.join(hub.cluster.hub_dir, "socket"))
        if round_ == 0:
            wait(lambda: "oo many open files" in place.read("hub.log"), "it is logged")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        hub.cluster.spate("hub status")
        peer.close()
    want(place.read("hub.log").count("oo many open files") == 1, place.read("hub.log"))


if __name__ == "__main__":
    main(globals())

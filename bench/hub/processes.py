"""What it costs to see, stop and enter the processes of jobs.

`ps` and `stop` ask 100 nodes that answer at once; the rest asks a real one. A stream into a task, and out of it, goes
through the client, TLS and the node's port; its rival is a plain copy through TLS between two processes.
"""
import ssl
import socket
import statistics
import subprocess
import sys
import time

from measures import Hub, await_that, cpu_seconds, middle

NODES, SLOTS, LISTED = 100, 10, 10
STREAM = 300 << 20
CHUNK = 64 << 10


def timed(hub, *words):
    start = time.monotonic()
    said = hub.spate(*words)
    return time.monotonic() - start, said


def swarm_of_tasks(hub):
    tasks = NODES * SLOTS
    hub.swarm(NODES, slots=SLOTS, task_ms=600_000, listed=LISTED)
    hub.spate("submit", "--array", f"1-{tasks}", "--", "true")
    await_that("all tasks run", lambda: hub.status()["running"] == tasks)
    return tasks


def list_and_stop(place, args):
    with Hub(place) as hub:
        tasks = swarm_of_tasks(hub)
        lists, stops, conts = [], [], []
        for _ in range(2 * args.rounds):
            took, said = timed(hub, "ps", "--quiet")
            if len(said.splitlines()) != tasks * LISTED:
                sys.exit(f"bench: ps lists {len(said.splitlines())} of {tasks * LISTED} processes")
            lists.append(1e3 * took)
            stops.append(1e3 * timed(hub, "job", "stop", "1")[0])
            if '"state":"frozen"' not in hub.spate("job", "list", "--json"):
                sys.exit("bench: not all tasks were frozen when `job stop` had ended")
            conts.append(1e3 * timed(hub, "job", "cont", "1")[0])
    print(f"{NODES} nodes that answer at once: ps of {tasks * LISTED:,} processes {middle(lists, '{:.0f}')} ms; "
          f"job stop of {tasks:,} tasks {middle(stops, '{:.0f}')} ms, job cont {middle(conts, '{:.0f}')} ms")


def real_processes(place, args):
    with Hub(place) as hub:
        node = hub.real_node(slots=120)
        hub.spate("submit", "--array", "1-10", "--cpus", "0.1", "--", "for i in $(seq 99); do sleep 3600 & done; wait # {}")
        count = lambda: len(hub.spate("ps", "--quiet").splitlines())  # noqa: E731
        await_that("1,000 processes are there", lambda: count() == 1000, pause=0.2)
        shares = []
        for _ in range(min(3, args.rounds)):
            looks = hub.spawn("watch.log", place.spate, "ps", "--watch", "15s")
            time.sleep(1)
            before, start = cpu_seconds(node.pid), time.monotonic()
            time.sleep(60)
            shares.append(100 * (cpu_seconds(node.pid) - before) / (time.monotonic() - start))
            looks.kill()
            looks.wait()
        print(f"1,000 real processes, watched every 15 s: node {middle(shares, '{:.2f}')} % of a core")
        stops = []
        hub.spate("submit", "--array", "1-100", "--cpus", "0.01", "--", "sleep", "3600")
        await_that("100 more tasks run", lambda: hub.status()["running"] == 110, pause=0.2)
        for _ in range(args.rounds):
            stops.append(1e3 * timed(hub, "job", "stop", "2")[0])
            hub.spate("job", "cont", "2")
        print(f"job stop of 100 real tasks: {middle(stops, '{:.0f}')} ms")


# ---- Visits --------------------------------------------------------------------------------------

def tls_pair(place):
    """Two connected sockets with TLS."""
    key, cert = place.path("key.pem"), place.path("cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=bench", "-days", "1", "-keyout", key,
                    "-out", cert], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    client = ssl.create_default_context(cafile=cert)
    client.check_hostname = False
    return server, client


SENDER = """
import socket, ssl, sys
context = ssl.create_default_context(cafile=sys.argv[2])
context.check_hostname = False
with context.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1])))) as out:
    left, chunk = int(sys.argv[3]), bytes(1 << 16)
    while left > 0:
        out.sendall(chunk[:left])
        left -= len(chunk)
    out.recv(1)  # until all has come: what is closed earlier may be lost
"""


def plain_copy(place, server):
    """Seconds that STREAM takes from one process to another."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        sender = subprocess.Popen([sys.executable, "-c", SENDER, str(door.getsockname()[1]), place.path("cert.pem"),
                                   str(STREAM)])
        raw, _ = door.accept()
        with server.wrap_socket(raw, server_side=True) as come:
            buffer, left = bytearray(CHUNK), STREAM
            start = time.monotonic()
            while left > 0:
                got = come.recv_into(buffer)
                if got == 0:
                    sys.exit("bench: the plain copy broke off")
                left -= got
            took = time.monotonic() - start
        sender.wait()
        return took


def visits(place, args):
    server, _ = tls_pair(place)
    with Hub(place) as hub:
        hub.real_node()
        hub.spate("submit", "--", "sleep 3600")
        await_that("the task runs", lambda: "1.1@" in subprocess.run(
            [place.spate, "ps", "--quiet"], env=hub.env, capture_output=True, text=True).stdout, pause=0.1)
        short = [1e3 * timed(hub, "exec", "1.1", "--", "true")[0] for _ in range(10 * args.rounds)]
        ins, outs = [], []
        big = hub.path("big")
        with open(big, "wb") as file:
            file.truncate(STREAM)
        for _ in range(args.rounds):
            plain = plain_copy(place, server)
            with open(big, "rb") as file:
                start = time.monotonic()
                said = subprocess.run([place.spate, "exec", "1.1", "--", "wc", "-c"], env=hub.env, stdin=file,
                                      capture_output=True, text=True, check=True).stdout
                ins.append(plain / (time.monotonic() - start))
            if int(said) != STREAM:
                sys.exit(f"bench: {said} of {STREAM} bytes went into the task")
            start = time.monotonic()
            counted = subprocess.run(f"{place.spate} exec 1.1 -- cat {big} | wc -c", shell=True, env=hub.env,
                                     stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
            outs.append(plain / (time.monotonic() - start))
            if int(counted) != STREAM:
                sys.exit(f"bench: {counted} of {STREAM} bytes came out of the task")
        print(f"exec -- true: {statistics.median(short):.0f} ms (worst {max(short):.0f}); {STREAM >> 20} MB into a task at "
              f"{middle(ins, '{:.2f}')} of the rate of a plain copy through TLS, out of it {middle(outs, '{:.2f}')}")


MEASURES = (list_and_stop, real_processes, visits)

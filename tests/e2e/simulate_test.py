"""`spate simulate`: figures and schedules of traces that anyone can make again, and of one of the archive's where it is.

The trace of the KTH (donor: Lars Malinowsky) is one of the Parallel Workloads Archive. It and a simulator to compare with are
no part of this repository: where a folder `shared` lies beside the clone, or $SHARED names one, they are used.
"""
import hashlib
import itertools
import json
import os
import subprocess
import sys

from cluster import cluster_of
from harness import Place, main, want

SOURCE = os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
SHARED = os.environ.get("SHARED") or os.path.join(SOURCE, "..", "shared")
KTH = os.path.join(SHARED, "traces", "KTH-SP2-1996-2.swf.gz")
OTHER = os.path.join(SHARED, "easy_sim.py")
MASK = 2 ** 64 - 1

# Trace, policy, order, estimates: mean bounded slowdown, mean wait, and the SHA-256 of the schedule.
MADE = [
    ("1000,64,7", "fcfs", "seq", "user", "6585.7752", "213587.3860",
     "0af68b56f61ce109ca7983daf9ff75a11370bafd74d736097383e34d58e03ec1"),
    ("1000,64,7", "easy", "seq", "user", "202.7254", "17242.8020",
     "c1aad1478835a471fd29697f6e94179ec01b62a366df3bb4e66106d023d504e1"),
    ("1000,64,7", "easy", "seq", "perfect", "336.2905", "16604.3390",
     "3f7a45d315772d8c1b5248b7a33ee5f458e605cbcc350640be1da54ae577b009"),
    ("1000,64,7", "easy", "batch", "user", "207.1450", "16946.3780",
     "c4ede3c9bb4dd5392aeff35971e18b7541a0cbf53b91cde488c2ba0293fbd037"),
    ("1000,64,7", "easy", "batch", "perfect", "336.2905", "16604.3390",
     "3f7a45d315772d8c1b5248b7a33ee5f458e605cbcc350640be1da54ae577b009"),
    ("1000,64,7", "easy-sjbf", "seq", "user", "126.2893", "14444.5180",
     "503a650281b963a9e1ba1cfcf5ed7d8cfa698d3ff8b81cf23617d20e7a488081"),
    ("1000,64,7", "easy-sjbf", "seq", "perfect", "121.4142", "9257.4280",
     "dd862fc21c6d363b1feccdbec50bd7a6ace0926ba6f10f3ec0cc581a39e04954"),
    ("1000,64,7", "easy-sjbf", "batch", "user", "126.2719", "14444.0850",
     "9e03614ff130e3e28b72005d6850182d78d8a0dc44ea6b761f8d8b94a6208838"),
    ("1000,64,7", "easy-sjbf", "batch", "perfect", "121.4142", "9257.4280",
     "dd862fc21c6d363b1feccdbec50bd7a6ace0926ba6f10f3ec0cc581a39e04954"),
    ("20000,256,1", "fcfs", "seq", "user", "59589.7478", "1912769.8098",
     "33c0021feb04fb0359b3b7cadf1448d1519d2c4391e2b7afdcfbf10a0ac97b1c"),
    ("20000,256,1", "easy", "seq", "user", "515.7858", "20908.9985",
     "f23d377e44a423b5d4bdb3366a32fc66ee75a6c20f2cba0e727ccabd9f32b979"),
    ("20000,256,1", "easy", "seq", "perfect", "222.7093", "9766.1931",
     "4be10f599be08c0ca1b943dbb8cdbea8af5d4a98dc668da4b2bf58c0770ee804"),
    ("20000,256,1", "easy", "batch", "user", "586.0283", "24052.0692",
     "a65fcc73f3edd4e1780b08321b08c92fecd1ede8c5ededfc82e0692d2c4def71"),
    ("20000,256,1", "easy", "batch", "perfect", "222.7093", "9766.1931",
     "4be10f599be08c0ca1b943dbb8cdbea8af5d4a98dc668da4b2bf58c0770ee804"),
    ("20000,256,1", "easy-sjbf", "seq", "user", "390.7898", "19521.3904",
     "884840e6dc3bf6b579c891519791b362004b57ca707403374c87af356aeccf7b"),
    ("20000,256,1", "easy-sjbf", "seq", "perfect", "144.0140", "7682.7131",
     "d8977737d46bc208b161c5a4c6e8c27a182e130c1771ecf243bb06c3b3f1c5f9"),
    ("20000,256,1", "easy-sjbf", "batch", "user", "337.9359", "17939.9653",
     "9df8c4ae03913e88d77711f72be09b6810c8eb012105dc7e8511b432dc8ff7a0"),
    ("20000,256,1", "easy-sjbf", "batch", "perfect", "144.0088", "7682.5814",
     "34d8eb3f163d70a1f9e628bc8c0bd96e4e3670d2a9b5e2251f314215f09e0a67"),
    ("20000,256,2", "fcfs", "seq", "user", "57438.6876", "1834482.6725",
     "1c868e558e7a9ec61227807f72c83f1947482acef02aed6d541c8ca41286642d"),
    ("20000,256,2", "easy", "seq", "user", "475.4312", "20629.2549",
     "d8cb2fdc77675a0f9f3cff17f60a3017e0e50a77ad6a47d6d9b86dbb3b8c9b52"),
    ("20000,256,2", "easy", "seq", "perfect", "190.4366", "9246.1746",
     "b039bf01ba7c08e53c6c8ebe4eebd36b76aa05da5f6881292ea2de310b2ff56c"),
    ("20000,256,2", "easy", "batch", "user", "410.7559", "18173.4408",
     "440931d6d634ebf330e7bbfa8eafc98e2afbc770c572f74dd195e2a9712455c9"),
    ("20000,256,2", "easy", "batch", "perfect", "190.4366", "9246.1746",
     "b039bf01ba7c08e53c6c8ebe4eebd36b76aa05da5f6881292ea2de310b2ff56c"),
    ("20000,256,2", "easy-sjbf", "seq", "user", "317.4630", "17478.5613",
     "9ccb6c43b23f10c15dcca972ed7f1615b7f4f0c65d8ecbd7412d5b627666b98a"),
    ("20000,256,2", "easy-sjbf", "seq", "perfect", "120.5556", "6667.0910",
     "fdad00c87a3417b9f952b9f52968b094c986f17b7379bf43129444f5c7483e3e"),
    ("20000,256,2", "easy-sjbf", "batch", "user", "327.1220", "16890.0870",
     "c3fd4aa3c322ca2bcc77d6ba33bca53c9e890c95462d6028ed613e909ca1e184"),
    ("20000,256,2", "easy-sjbf", "batch", "perfect", "120.5524", "6667.0048",
     "bc888157910e23d51968dd30a831e726c965382523aaebc070eeb159cd11b0f1"),
    ("1000,64,7", "conservative", "seq", "user", "101.5173", "15500.8870",
     "1bf040ec214059e55e2a2e27ad007daf715b5f0d5ffe7d0f6087c9a92d3bb4ae"),
    ("1000,64,7", "conservative", "seq", "perfect", "279.7218", "19199.8590",
     "18c48e343ee1d953e99c7144d72342d3bf81213cf003dd454fba7aa01f84b83a"),
    ("1000,64,7", "conservative", "batch", "user", "101.5173", "15500.8870",
     "1bf040ec214059e55e2a2e27ad007daf715b5f0d5ffe7d0f6087c9a92d3bb4ae"),
    ("1000,64,7", "conservative", "batch", "perfect", "279.7218", "19199.8590",
     "18c48e343ee1d953e99c7144d72342d3bf81213cf003dd454fba7aa01f84b83a"),
    ("20000,256,1", "conservative", "seq", "user", "278.0453", "18630.9222",
     "df749368cdfdc76d103fb3f162193a2ae26a43db2e932b0c6297054cad029c14"),
    ("20000,256,1", "conservative", "seq", "perfect", "193.0755", "11221.6333",
     "da36bc249af925ff1adec7a8f2be675f4145bc6e5a537f1096bd00d92cd36132"),
    ("20000,256,1", "conservative", "batch", "user", "391.8070", "23015.6200",
     "41c2746141dafe3fcdf57e7bdb0dbc05160d12e884fa919fc414ea0deaab5de0"),
    ("20000,256,1", "conservative", "batch", "perfect", "193.0755", "11221.6333",
     "da36bc249af925ff1adec7a8f2be675f4145bc6e5a537f1096bd00d92cd36132"),
    ("20000,256,2", "conservative", "seq", "user", "321.4382", "20137.2759",
     "82e8aae859ca23c99612978d3f1dd5f46caf586d69c320f5f38f203b4f200082"),
    ("20000,256,2", "conservative", "seq", "perfect", "174.7217", "10957.1714",
     "d162bdb5473998b422db8b7f9812ee6b408c96f45e111dbc4abdd813f3256610"),
    ("20000,256,2", "conservative", "batch", "user", "303.0674", "18574.8726",
     "da22eae1d02795d642cd1ef08de3756e9c043c347cea5ce5f10708915e793d1c"),
    ("20000,256,2", "conservative", "batch", "perfect", "174.7217", "10957.1714",
     "d162bdb5473998b422db8b7f9812ee6b408c96f45e111dbc4abdd813f3256610"),
]
# Of the KTH's trace, with its first jobs or all: the first figure, and the second one where it is known.
KTH_FIGURES = [
    ("fcfs", "seq", "user", None, "6814.97", "353776.41"),
    ("easy", "seq", "user", None, "92.5765", "6836.8721"),
    ("easy", "batch", "user", None, "92.6877", "6834.59"),
    ("easy", "seq", "perfect", None, "71.7224", "6327.68"),
    ("easy-sjbf", "seq", "user", None, "69.4054", "5904.08"),
    ("easy-sjbf", "seq", "perfect", None, "49.8477", None),
    ("fcfs", "seq", "user", 5000, "4971.7625", None),
    ("easy", "seq", "user", 5000, "136.4781", None),
    ("easy", "batch", "user", 5000, "138.0785", None),
    ("easy-sjbf", "batch", "user", 5000, "112.1718", None),
    ("conservative", "seq", "user", None, "88.9973", "7310.5512"),
]


def draws(seed):
    """splitmix64"""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def width_of(draw, processors):
    """Powers of two, small ones more often; a third of them less by some."""
    top = processors.bit_length() - 1
    width = 2 ** ((draw % (top + 1)) * ((draw >> 8) % (top + 1)) // max(top, 1))
    if (draw >> 16) % 3 == 0 and width > 2:
        width -= (draw >> 32) % (width // 2)
    return width


def made_trace(jobs, processors, seed):
    """A trace of integers alone, so that every language makes the same one."""
    lines = [f"; MaxProcs: {processors}"]
    source, submit = draws(seed), 0
    for number in range(1, jobs + 1):
        gap, width, length, accuracy, user = (next(source) for _ in range(5))
        submit += (gap >> 32) % 2 ** (gap % 12) + 20 * (gap >> 62)
        wide = width_of(width, processors)
        scale = 2 ** (length % 15)
        run = scale + (length >> 32) % scale
        asked = run * (1 + accuracy % 5 * (1 + (accuracy >> 8) % 3))
        estimate = max(60, -(-asked // 300) * 300)
        lines.append(f"{number} {submit} -1 {run} {wide} -1 -1 {wide} {estimate} -1 1 {1 + user % 40} 1 -1 1 -1 -1 -1")
    return lines


def simulate(place, trace, policy, order="seq", estimates="user", *more):
    out, _ = place.run(trace, "--policy", policy, "--order", order, "--estimates", estimates, "--schedule", "schedule",
                       "--output", "json", *more, command="simulate")
    return json.loads(out), place.read("schedule")


def rounds_to(value, figure):
    """`figure` as it stands in a table, with as many decimals as it has there."""
    decimals = len(figure.partition(".")[2])
    return abs(value - float(figure)) <= 0.5000001 * 10 ** -decimals


def check_schedule(schedule, processors, policy):
    """Never over capacity, never before the submission, in order where that is the policy."""
    jobs = [tuple(map(int, line.split())) for line in schedule.splitlines()]
    events = []
    for _, submit, start, run, wide, _ in jobs:
        want(start >= submit, "a job starts before its submission")
        events += [(start, 1, wide), (start + run, 0, -wide)]
    used = 0
    for _, _, step in sorted(events):
        used += step
        want(0 <= used <= processors, f"{policy}: {used} processors in use")
    starts = [job[2] for job in jobs]
    want(policy != "fcfs" or starts == sorted(starts), "fcfs out of order")
    return jobs


def test_made_traces(place: Place):
    traces = {}
    for trace, policy, order, estimates, slowdown, wait, digest in MADE:
        if trace not in traces:
            jobs, processors, seed = map(int, trace.split(","))
            traces[trace] = processors
            place.write(trace, *made_trace(jobs, processors, seed))
        told, schedule = simulate(place, trace, policy, order, estimates)
        where = f"{trace} {policy} {order} {estimates}: {told}"
        want(rounds_to(told["mean_bounded_slowdown"], slowdown), where)
        want(rounds_to(told["mean_wait"], wait), where)
        want(hashlib.sha256(schedule.encode()).hexdigest() == digest, where + ": another schedule")
        check_schedule(schedule, traces[trace], policy)


def test_a_hub_starts_the_same_jobs_at_the_same_times(place: Place):
    """On one node a hub's placement and that of a pool give one schedule: the reference's."""
    traces = set()
    for trace, policy, order, estimates, slowdown, _, digest in MADE:
        jobs, processors, seed = map(int, trace.split(","))
        if policy in ("fair", "conservative") or seed == 2 or (policy == "fcfs" and jobs > 1000):
            continue
        if trace not in traces:
            traces.add(trace)
            place.write(trace, *made_trace(jobs, processors, seed))
        told, schedule = simulate(place, trace, policy, order, estimates, "--placement", "nodes")
        where = f"{trace} {policy} {order} {estimates}: {told}"
        want(told["placement"] == "nodes" and rounds_to(told["mean_bounded_slowdown"], slowdown), where)
        want(hashlib.sha256(schedule.encode()).hexdigest() == digest, where + ": another schedule")
    want(len(traces) == 2, traces)


def test_nodes_of_a_trace(place: Place):
    place.write("trace", *made_trace(1000, 64, 7))
    for policy in ("fcfs", "easy", "easy-sjbf", "fair", "conservative"):
        told, schedule = simulate(place, "trace", policy, "seq", "user", "--placement", "nodes", "--nodes", "8")
        want((told["jobs"], told["processors"]) == (1000, 64), told)
        check_schedule(schedule, 64, policy)
    # Another machine: what is larger than it is left out.
    told, _ = simulate(place, "trace", "easy", "seq", "user", "--placement", "nodes", "--nodes", "2", "--cpus", "16")
    want(told["processors"] == 32 and 0 < told["dropped"] < 1000 and told["jobs"] + told["dropped"] == 1000, told)
    for words, text in (
        (["--nodes", "2"], "--nodes and --cpus are only for --job-history or --placement nodes"),
        (["--placement", "nodes", "--nodes", "7"], "cannot be divided equally among 7 nodes; add --cpus C"),
        (["--placement", "cloud"], "'cloud' is not one of: pool nodes"),
    ):
        _, err = place.run("trace", *words, command="simulate", code=2)
        want(text in err, err)


def test_figures_are_those_of_the_schedule(place: Place):
    place.write("trace", *made_trace(1000, 64, 7))
    for policy in ("fcfs", "easy", "easy-sjbf", "fair", "conservative"):
        told, schedule = simulate(place, "trace", policy)
        jobs = check_schedule(schedule, 64, policy)
        waits = [start - submit for _, submit, start, _, _, _ in jobs]
        end = max(start + run for _, _, start, run, _, _ in jobs)
        first = min(job[1] for job in jobs)
        want(told["jobs"] == 1000 and told["policy"] == policy, str(told))
        want(told["mean_wait"] == round(sum(waits) / 1000, 6), str(told))
        want(told["max_wait"] == max(waits) and told["makespan"] == end - first, str(told))
        used = sum(run * wide for _, _, _, run, wide, _ in jobs) / (64 * (end - first))
        want(abs(told["utilisation"] - used) < 1e-6, str(told))
        depths = [sum(s <= at < t for _, s, t, _, _, _ in jobs) for at in {job[1] for job in jobs}]
        want(told["queue_depth_max"] == max(depths), str(told))


def test_order_does_not_matter_where_all_is_known(place: Place):
    place.write("trace", *made_trace(1000, 64, 7))
    for policy, estimates in (("fcfs", "user"), ("easy", "perfect"), ("conservative", "perfect")):
        schedules = [simulate(place, "trace", policy, order, estimates)[1] for order in ("seq", "batch")]
        want(schedules[0] == schedules[1], policy)


def test_first_jobs_and_filters(place: Place):
    lines = made_trace(50, 16, 3)
    place.write("trace", *lines)
    told, schedule = simulate(place, "trace", "easy", "seq", "user", "--first", "20")
    want(told["jobs"] == 20 and len(schedule.splitlines()) == 20, str(told))
    place.write("odd", *lines, "51 9 -1 5 2 -1 -1 -1 -1 -1 1 1 1 -1 1 -1 -1 -1", "52 9 -1 5 99 -1 -1 -1 9 -1 1 1 1 -1 1 -1 -1 -1")
    told, _ = simulate(place, "odd", "easy")
    want((told["jobs"], told["dropped"]) == (50, 2), str(told))
    told, _ = simulate(place, "odd", "easy", "seq", "user", "--filter", "loose")
    want((told["jobs"], told["dropped"]) == (51, 1), str(told))


def test_wrong_input_changes_nothing(place: Place):
    good = made_trace(3, 16, 3)
    place.write("good", *good)
    cases = [
        ("broken", [*good, "4 5 what"], 2, "broken: line 5: field 3 is not a number, or is too large: what"),
        ("few", [*good, "4 5 6"], 2, "few: line 5: there are 3 fields, not 18"),
        ("headless", good[1:], 2, "headless: no header states the machine's number of processors"),
        ("empty", [], 2, "empty: no header states"),
        ("jobless", good[:1], 2, "jobless: the trace has no job that can run"),
    ]
    for name, lines, code, text in cases:
        place.write(name, *lines)
        out, err = place.run(name, "--schedule", "s", "--plot", "p.svg", command="simulate", code=code)
        want(out == "" and text in err, f"{name}: {out} {err}")
        want(not os.path.exists(os.path.join(place.dir, "s")), name)
        want(not os.path.exists(os.path.join(place.dir, "p.svg")), name)
    with open(os.path.join(place.dir, "short.gz"), "wb") as file:
        file.write(b"\x1f\x8b\x08\x00")
    _, err = place.run("short.gz", command="simulate", code=2)
    want("short.gz: damaged: gzip" in err, err)
    place.run("missing", command="simulate", code=2)
    for words in ([], ["good", "good"], ["good", "--policy", "best"], ["good", "--first", "0"], ["good", "--nodes", "1"],
                  ["good", "--job-history", "."]):
        place.run(*words, command="simulate", code=2)
    out, _ = place.run("broken", "--filter", "loose", "--json", command="simulate")
    want(json.loads(out)["broken_lines"] == 1, out)


def test_traces_from_a_pipe_and_of_gzip(place: Place):
    import gzip
    lines = "\n".join(made_trace(50, 16, 3)).encode() + b"\n"
    place.write("plain", *made_trace(50, 16, 3))
    with gzip.open(os.path.join(place.dir, "zipped"), "wb") as file:
        file.write(lines)
    expected = simulate(place, "plain", "easy")[1]
    want(simulate(place, "zipped", "easy")[1] == expected, "of gzip")
    for stdin in (lines, gzip.compress(lines)):
        place.run("-", "-q", "--schedule", "piped", command="simulate", stdin=stdin)
        want(place.read("piped") == expected, "from a pipe")


def history(place, folder, *more, nodes=1, cpus=1):
    out, err = place.run("--job-history", folder, "--nodes", str(nodes), "--cpus", str(cpus), "--schedule", "schedule",
                         "--output", "json", *more, command="simulate")
    want(err == "", err)
    return json.loads(out), [line.split() for line in place.read("schedule").splitlines()]


def test_history_of_runs(place: Place):
    place.run("-j4", "--", "sleep 0.1{}", ":::", "1", "2", "3", "4")
    place.run("-j2", "--cpus", "2", "--", "false", code=1)
    told, schedule = history(place, place.state)
    want((told["jobs"], told["dropped"], told["processors"], told["filter"]) == (4, 1, 1, "history"), str(told))
    want([line[0] for line in schedule] == ["1.1", "1.2", "1.3", "1.4"], str(schedule))
    # Four that took 0.11 s and more, at the same time, one after the other on one processor.
    times = [float(line[3]) for line in schedule]
    want(min(times) >= 0.1, str(schedule))
    want(1.5 * max(times) + 0.01 >= told["mean_wait"] >= 1.5 * 0.11 and told["queue_depth_max"] == 3, str(told))
    told, _ = history(place, place.state, nodes=2, cpus=2)
    want((told["jobs"], told["dropped"], told["processors"]) == (5, 0, 4), str(told))
    want(told["mean_wait"] == 0 and told["computer"] == "2 nodes with 2 cpus each", str(told))
    for policy in ("fcfs", "easy", "easy-sjbf", "fair", "conservative"):
        told, schedule = history(place, place.state + "/jobs", "--policy", policy, "--estimates", "perfect", cpus=2)
        want(told["jobs"] == 5 and told["policy"] == policy, str(told))
    out, _ = place.run("--job-history", place.state, "--nodes", "1", "--cpus", "2", "--plot", "p.svg", command="simulate")
    want("jobs of runs" in out and "history" in out and "seconds since" in place.read("p.svg"), out)


def test_history_on_nodes(place: Place):
    """Tasks of two cpus: half of each of two nodes is free beside two of them, and no room for a third."""
    place.run("-j2", "--cpus", "2", "--", "sleep 0.1{}", ":::", "1", "2", "3")
    waits = {}
    for placement in ("pool", "nodes"):
        told, schedule = history(place, place.state, "--placement", placement, nodes=2, cpus=3)
        want((told["jobs"], told["processors"], told["placement"]) == (3, 6, placement), told)
        waits[placement] = [float(line[2]) - float(line[1]) for line in schedule]
    want(waits["pool"] == [0, 0, 0] and waits["nodes"][:2] == [0, 0] and waits["nodes"][2] > 0.1, waits)
    for policy, estimates in itertools.product(("fcfs", "easy", "easy-sjbf", "fair", "conservative"), ("user", "perfect")):
        told, _ = history(place, place.state, "--placement", "nodes", "--policy", policy, "--estimates", estimates,
                          nodes=1, cpus=2)
        want(told["jobs"] == 3 and told["queue_depth_max"] == 2, told)


def test_history_of_a_hub(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "4", "--cpus", "4")
    cluster.submit("--wait", "--time", "7", "--", "sleep 0.1; true {}", ":::", "1", "2", "3")
    cluster.submit("--wait", "--cpus", "3", "--", "true")
    # While it runs.
    for folder in (place.state, place.state + "/hub"):
        told, schedule = history(place, folder, cpus=3)
        want((told["jobs"], told["dropped"]) == (4, 0), str(told))
        want([line[4] for line in schedule] == ["1", "1", "1", "3"], str(schedule))
    told, _ = history(place, folder, cpus=2)
    want((told["jobs"], told["dropped"]) == (3, 1), str(told))


def test_history_that_is_not_there(place: Place):
    os.mkdir(os.path.join(place.dir, "empty"))
    cases = [
        (["--job-history", "missing", "--nodes", "1", "--cpus", "1"], "'missing' contains no history of jobs"),
        (["--job-history", "empty", "--nodes", "1", "--cpus", "1"], "'empty' contains no history of jobs"),
        (["--job-history", "empty"], "--job-history needs a machine: --nodes N --cpus C"),
        (["--job-history", "empty", "--nodes", "1", "--cpus", "0"], "--cpus: write 1 or more"),
        (["--job-history", "empty", "--nodes", "1", "--cpus", "1", "--filter", "loose"], "--filter is for traces"),
        ([], "name either a trace or --job-history STATE"),
    ]
    for words, text in cases:
        out, err = place.run(*words, command="simulate", code=2)
        want(out == "" and text in err, f"{words}: {out} {err}")
    place.run("--cpus", "2", "-j2", "--", "true")
    for words, text in ((["--cpus", "1"], "no task fits 1 node with 1 cpu each"), (["--cpus", "2"], "")):
        _, err = place.run("--job-history", place.state, "--nodes", "1", *words, command="simulate", code=2 if text else 0)
        want(text in err, err)


def test_picture(place: Place):
    place.write("trace", *made_trace(1000, 64, 7))
    out, _ = place.run("trace", "--plot", "p.svg", command="simulate")
    want("mean 202.7254" in out, out)
    import xml.dom.minidom
    svg = place.read("p.svg")
    xml.dom.minidom.parseString(svg)
    want("Processors in use" in svg and "Waiting jobs" in svg, svg[:500])


def test_kth(place: Place):
    if not os.path.exists(KTH):
        print("       (skipped: KTH-SP2-1996-2.swf.gz is not here)")
        return
    for policy, order, estimates, first, slowdown, wait in KTH_FIGURES:
        more = ["--first", str(first)] if first else []
        told, schedule = simulate(place, KTH, policy, order, estimates, *more)
        where = f"{policy} {order} {estimates} {first}: {told}"
        want(rounds_to(told["mean_bounded_slowdown"], slowdown), where)
        want(wait is None or rounds_to(told["mean_wait"], wait), where)
        want(told["jobs"] == first or told["jobs"] == 28481, where)
        check_schedule(schedule, 100, policy)


def test_schedules_are_those_of_another_simulator(place: Place):
    if not os.path.exists(OTHER) or not os.path.exists(KTH):
        print("       (skipped: easy_sim.py is not here)")
        return
    for policy, order, estimates in itertools.product(
            ("fcfs", "easy", "easy-sjbf"), ("seq", "batch"), ("user", "perfect")):
        _, schedule = simulate(place, KTH, policy, order, estimates)
        subprocess.run([sys.executable, OTHER, KTH, "--policy", policy, "--order", order, "--schedule", "other",
                        "--est", "req" if estimates == "user" else "actual"],
                       cwd=place.dir, check=True, stdout=subprocess.DEVNULL)
        want(place.read("other") == schedule, f"{policy} {order} {estimates}")


main(globals())

"""No-op functions by another library, two workers on this machine: rivals.py dask|parsl|ray TASKS FOLDER.

Run by the Python of a virtual environment that has the library. A small batch is checked first and
warms all up; then a whole batch is given out at once, and its answers are checked as well.
"""
import os
import sys
import time

WARM_UP = 1000


def same(i):
    return i


def rate(tasks, batch):
    """batch(n) computes same() of 0..n-1 and returns the answers."""
    for count in (10, WARM_UP, tasks):
        begun = time.monotonic()
        answers = batch(count)
        took = time.monotonic() - begun
        if list(answers) != list(range(count)):
            sys.exit("its answers are wrong")
    return tasks / took


def by_dask(tasks, folder):
    import dask
    from distributed import Client, LocalCluster
    dask.config.set({"temporary-directory": folder})
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            return rate(tasks, lambda count: client.gather(client.map(same, range(count), pure=False)))


def by_parsl(tasks, folder):
    import parsl
    from parsl.config import Config
    from parsl.executors import HighThroughputExecutor
    from parsl.providers import LocalProvider
    executor = HighThroughputExecutor(label="bench", address="127.0.0.1", max_workers_per_node=2, prefetch_capacity=100,
                                      provider=LocalProvider(init_blocks=1, min_blocks=1, max_blocks=1))
    # The cheapest that it offers: no log, no watching of blocks.
    config = Config(executors=[executor], run_dir=os.path.join(folder, "parsl"), initialize_logging=False,
                    strategy="none")
    with parsl.load(config):
        app = parsl.python_app(same)
        return rate(tasks, lambda count: [future.result() for future in [app(i) for i in range(count)]])


def by_ray(tasks, folder):
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=folder, object_store_memory=200 << 20)
    task = ray.remote(num_cpus=1)(same)
    try:
        return rate(tasks, lambda count: ray.get([task.remote(i) for i in range(count)]))
    finally:
        ray.shutdown()


if __name__ == "__main__":
    found = {"dask": by_dask, "parsl": by_parsl, "ray": by_ray}[sys.argv[1]](int(sys.argv[2]), sys.argv[3])
    print(f"rate {found:.1f}", flush=True)

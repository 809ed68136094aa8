"""What pegasus-mpi-cluster should do by the original's facts, and does not yet.

A test that passes belongs into pmc_options_test.py.
"""
from harness import Place, main
from pmc_options_test import large_and_small
from pmc_place import need_a_library


def test_a_small_task_goes_where_a_large_one_does_not_fit(place: Place):
    # The manual: "if a task cannot be matched to an available slot, but a lower-priority task can, then the
    # task will be deferred and the lower priority task will be executed".
    large_and_small(place, "-m 400")


if __name__ == "__main__":
    need_a_library()
    main(globals())

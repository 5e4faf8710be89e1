"""The simulated scheduling pass: order of the queue, and holes that smaller jobs take without delaying the first."""

from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.model.jobs import JobState, Request
from tests.adapters.simulator.builders import NOW, cluster, cpus, job, state

RUNNING, PENDING = JobState.RUNNING, JobState.PENDING


def test_nothing_starts_before_time_passes_and_then_jobs_start_in_the_order_of_their_priority() -> None:
    sim = cluster()
    first, second = sim.submit(job()), sim.submit(job())
    assert state(sim, first) is PENDING

    sim.job(second).priority += 1
    sim.advance(0)

    assert (state(sim, first), state(sim, second)) == (PENDING, RUNNING)
    assert sim.job(second).start == NOW


def test_of_equal_priority_the_earlier_submitted_comes_first_and_then_the_smaller_id() -> None:
    sim = cluster()
    blocker = sim.submit(job())
    sim.advance(1)
    waiting = [sim.submit(job(name=str(number))) for number in range(12)]
    sim.job(waiting[11]).submit = NOW
    sim.cancel(blocker)

    order = []
    for _ in range(4):
        sim.advance(2)
        running = next(found.id for found in sim.state.in_state(RUNNING))
        order.append(running)
        sim.cancel(running)

    assert order == [waiting[11], *waiting[:3]]


def test_a_small_job_takes_a_hole_that_the_first_in_line_cannot_use() -> None:
    sim = cluster()
    sim.submit(job(6, limit_s=600))
    sim.advance(0)
    big, small = sim.submit(job(8)), sim.submit(job(2, limit_s=300))

    sim.advance(0)

    assert (state(sim, big), state(sim, small)) == (PENDING, RUNNING)
    assert sim.job(big).reason == "Resources"
    assert sim.job(big).estimated_start == NOW + 600


def test_a_small_job_that_would_delay_the_first_in_line_waits_behind_it() -> None:
    sim = cluster()
    sim.submit(job(6, run_s=600, limit_s=600))
    sim.advance(0)
    big, late, endless = sim.submit(job(8)), sim.submit(job(2, limit_s=601)), sim.submit(job(2))

    sim.advance(0)

    assert [state(sim, one) for one in (big, late, endless)] == [PENDING] * 3
    assert sim.job(late).reason == "Priority"
    sim.advance(601)
    assert state(sim, big) is RUNNING


def test_a_long_job_may_pass_by_on_what_the_first_in_line_leaves_free() -> None:
    sim = cluster({"n1": {"cpu": 8}, "n2": {"cpu": 8}})
    sim.submit(job(8, limit_s=600))
    sim.submit(job(6, limit_s=900))
    sim.advance(0)
    big, endless = sim.submit(job(8)), sim.submit(job(2))

    sim.advance(0)

    assert (state(sim, big), state(sim, endless)) == (PENDING, RUNNING)
    assert set(sim.job(endless).alloc) == {"n2"}


def test_only_as_many_pass_by_as_leave_the_reserved_place_alone() -> None:
    sim = cluster({"n1": {"cpu": 8}, "n2": {"cpu": 8}})
    sim.submit(job(8, limit_s=600))
    sim.submit(job(4, limit_s=900))
    sim.advance(0)
    wide = sim.submit(JobSpec("wide", "ann", cpus(6, nodes=2)))
    passing = [sim.submit(job(2)) for _ in range(2)]

    sim.advance(0)

    assert state(sim, wide) is PENDING
    assert [state(sim, one) for one in passing] == [RUNNING, PENDING]


def test_each_partition_has_its_own_first_in_line_and_shared_nodes_are_reserved_for_it() -> None:
    sim = cluster({"n1": {"cpu": 8}, "n2": {"cpu": 8}}, {"both": ("n1", "n2"), "one": ("n2",)})
    sim.submit(job(8, limit_s=600))
    sim.advance(0)
    wide = sim.submit(JobSpec("wide", "ann", cpus(8, nodes=2), ("both",)))
    blocked, short = (
        sim.submit(JobSpec("one", "bob", cpus(8), ("one",), time_limit_s=limit)) for limit in (900, 600)
    )

    sim.advance(0)

    assert [state(sim, one) for one in (wide, blocked, short)] == [PENDING, PENDING, RUNNING]
    assert sim.job(blocked).reason == "Resources"


def test_a_job_for_two_partitions_starts_where_there_is_room() -> None:
    sim = cluster({"n1": {"cpu": 8}, "n2": {"cpu": 8}}, {"a": ("n1",), "b": ("n2",)})
    sim.submit(JobSpec("full", "ann", cpus(8), ("a",)))
    either = sim.submit(JobSpec("either", "ann", cpus(8), ("a", "b")))

    sim.advance(0)

    assert sim.job(either).partitions == ("b",)


def test_a_closed_partition_starts_nothing_until_it_is_up_again() -> None:
    sim = cluster()
    sim.set_partition_state("x", "DOWN")
    one = sim.submit(job())
    sim.advance(10)
    assert (state(sim, one), sim.job(one).reason) == (PENDING, "PartitionDown")

    sim.set_partition_state("x", "UP")
    sim.advance(0)
    assert state(sim, one) is RUNNING


def test_a_job_for_more_nodes_than_the_partition_has_waits_without_blocking_others() -> None:
    sim = cluster()
    huge, small = sim.submit(JobSpec("huge", "ann", cpus(1, nodes=2))), sim.submit(job())

    sim.advance(0)

    assert (sim.job(huge).reason, state(sim, small)) == ("PartitionNodeLimit", RUNNING)


def test_a_job_that_fits_on_no_node_that_is_up_does_not_block_others() -> None:
    sim = cluster({"n1": {"cpu": 8}, "n2": {"cpu": 16}})
    sim.state.nodes["n2"].state = sim.state.nodes["n2"].state.DOWN
    large, small = sim.submit(job(16)), sim.submit(job(8))

    sim.advance(0)

    assert (state(sim, large), state(sim, small)) == (PENDING, RUNNING)


def test_an_exclusive_job_waits_for_an_empty_node_and_lets_nobody_in() -> None:
    sim = cluster({"n1": {"cpu": 8, "gpu": 2, "mem": 100}})
    short = sim.submit(JobSpec("gpu only", "ann", Request(nodes=1, per_node={"gpu": 1}), run_time_s=5))
    sim.advance(0)
    alone = sim.submit(JobSpec("alone", "ann", Request(nodes=1, per_node={"mem": 10}, exclusive=True)))
    sim.advance(1)
    assert state(sim, alone) is PENDING

    sim.advance(10)
    later = sim.submit(JobSpec("mem only", "bob", Request(nodes=1, per_node={"mem": 1})))
    sim.advance(10)

    assert [state(sim, one) for one in (short, alone, later)] == [None, RUNNING, PENDING]
    assert sim.job(alone).alloc == {"n1": {"cpu": 8, "gpu": 2, "mem": 10}}

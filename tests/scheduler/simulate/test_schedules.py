"""First come first served and EASY: schedules worked out by hand, and a plain simulator as oracle."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.simulate.easy import Starter
from scheduler.simulate.measures import measure
from scheduler.simulate.policy import Backfill, Runtimes, Scheduler
from scheduler.simulate.replay import replay
from scheduler.simulate.trace import TraceRow, Work
from tests.scheduler.simulate.naive import Naive
from tests.scheduler.simulate.workloads import by_id, on, policy, row, rows, run, starts

TEN = [
    # Ten nodes. a runs until 100, b (four nodes short) until 60: seven nodes busy, three free.
    row("a", 0, 100, 4),
    row("b", 0, 60, 3),
    # Wants eight: with b's three and the three free only six, so it waits for a: at 100 ten are free, two to spare.
    row("c", 10, 50, 8),
    row("d", 11, 90, 2),  # ends at 101, after 100, but needs just the two to spare
    row("e", 12, 89, 1),  # ends at 101 too, and nothing is left to spare
    row("f", 13, 87, 1),  # ends at 100: in time
    row("g", 14, 10, 2),  # fits when b has ended at 60, and ends in time
    row("h", 15, 40, 1),  # at 60 too: g and h fit into b's three nodes; it ends at 100
    row("i", 16, 41, 1),  # at 60 it would end at 101: too late. d's nodes are for e and i
    row("j", 90, 5, 1),  # g's nodes are free since 70: it ends at 95
]


def test_first_come_first_served_by_hand() -> None:
    assert starts(run(10, TEN, policy(Scheduler.FCFS))) == {
        "a": 0, "b": 0, "c": 100, "d": 100, "e": 150, "f": 150, "g": 150, "h": 150, "i": 150, "j": 150,
    }  # fmt: skip


def test_easy_by_hand() -> None:
    assert starts(run(10, TEN, policy())) == {
        "a": 0, "b": 0, "c": 100, "d": 11, "e": 101, "f": 13, "g": 60, "h": 60, "i": 101, "j": 90,
    }  # fmt: skip


def test_a_run_that_ends_early_brings_the_reservation_forward() -> None:
    """a was expected until 100 and ends at 30: the head starts, and who was too long for 100 has to wait for it."""
    jobs = [row("a", 0, 30, 2, limit=100), row("head", 1, 50, 3), row("long", 2, 99, 1)]
    assert starts(run(3, jobs, policy())) == {"a": 0, "head": 30, "long": 80}


def test_gpus_of_a_node_are_kept_for_the_head() -> None:
    """Two nodes of four GPUs. At 100 node 1 is wholly free; a long job may use the spare GPU of node 2 only."""
    jobs = [
        row("a", 0, 100, 1, gpus=3, cpus=None),
        row("b", 0, 300, 1, gpus=3, cpus=None),
        row("head", 1, 50, 1, gpus=4, cpus=None),
        row("long", 2, 500, 1, gpus=1, cpus=None),
        row("too", 3, 500, 1, gpus=1, cpus=None),
    ]
    outcome = run(2, jobs, policy(), {"gpu": 4})
    assert starts(outcome) == {"a": 0, "b": 0, "head": 100, "long": 2, "too": 150}
    assert by_id(outcome)["long"].spans == [(2, 502, 0b10, 1)]


def test_true_runtimes_let_a_short_job_with_a_long_limit_pass() -> None:
    jobs = [row("a", 0, 100, 1), row("head", 1, 50, 2), row("short", 2, 10, 1, limit=1000)]
    assert starts(run(2, jobs, policy()))["short"] == 150
    assert starts(run(2, jobs, policy(runtimes=Runtimes.TRUE)))["short"] == 2


def test_the_mean_of_the_last_two_runs_of_a_user_counts_when_there_are_two() -> None:
    """ann's runs took 10 and 20 seconds: her third is expected to take 15, not its limit; bob has run only once."""
    jobs = [
        row("1", 0, 10, 1, user="ann", limit=500),
        row("2", 0, 20, 1, user="ann", limit=500),
        row("3", 0, 20, 1, user="bob", limit=500),
        row("a", 30, 100, 1),
        row("head", 31, 50, 2),
        row("bob", 32, 15, 1, user="bob", limit=500),
        row("ann", 33, 15, 1, user="ann", limit=500),
    ]
    assert starts(run(3, jobs[:3], policy())) == {"1": 0, "2": 0, "3": 0}
    found = starts(run(2, jobs, policy(runtimes=Runtimes.LAST_TWO)))
    assert found["ann"] == 33
    assert found["bob"] == 180


def test_a_job_that_outlasts_its_expected_end_is_expected_a_minute_later() -> None:
    """Expected until 15, it runs until 70; at 40 it is expected until 75, so 30 seconds more fit before the head."""
    jobs = [
        row("1", 0, 5, 1, user="ann"),
        row("2", 0, 5, 1, user="ann"),
        row("late", 10, 60, 1, user="ann", limit=500),
        row("head", 11, 50, 2),
        row("next", 40, 35, 1),
        row("long", 41, 36, 1),
    ]
    found = starts(run(2, jobs, policy(runtimes=Runtimes.LAST_TWO)))
    assert found["next"] == 40
    assert found["long"] > found["head"] == 75  # type: ignore[operator]


def test_a_run_of_three_seconds_counts_as_ten_in_slowdowns() -> None:
    """It waits 100 s and runs 3: 103 / 10; the other did not wait: 1."""
    found = measure(run(1, [row("a", 0, 100, 1), row("b", 0, 3, 1)], policy()))
    assert found.everybody.slowdown == pytest.approx((1 + 103 / 10) / 2)


def test_the_shortest_passes_first_where_the_policy_says_so() -> None:
    jobs = [
        row("a", 0, 100, 1),
        row("head", 1, 50, 2),
        row("40", 2, 40, 1),
        row("20", 3, 20, 1),
        row("b", 0, 5, 1),
    ]
    assert starts(run(2, jobs, policy()))["40"] == 5
    assert starts(run(2, jobs, policy(backfill=Backfill.SHORTEST)))["20"] == 5


SHAPES: list[Mapping[str, int]] = [{"cpu": 1}, {"gpu": 4}, {"cpu": 3, "gpu": 2}]


@pytest.mark.parametrize("per_node", SHAPES, ids=str)
@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    scheduler=st.sampled_from([Scheduler.FCFS, Scheduler.EASY]),
    truth=st.booleans(),
    short=st.booleans(),
)
def test_the_plainest_simulator_finds_the_same(
    per_node: Mapping[str, int], data: st.DataObject, scheduler: Scheduler, truth: bool, short: bool
) -> None:
    workload = on(5, data.draw(rows(per_node=per_node)), per_node)
    chosen = policy(
        scheduler,
        runtimes=Runtimes.TRUE if truth else Runtimes.LIMIT,
        backfill=Backfill.SHORTEST if short else Backfill.ORDER,
    )

    def expects(work: Work) -> int:
        return work.runtime if truth else work.row.limit or 0

    def turn(work: Work) -> tuple[int, ...]:
        return (expects(work), work.index) if short else (work.index,)

    oracle = Naive(workload, scheduler is Scheduler.EASY, expects, turn)
    assert starts(replay(workload, chosen)) == oracle.run()


@settings(max_examples=60, deadline=None)
@given(jobs=rows(per_node={"gpu": 4}), truth=st.booleans())
def test_nobody_delays_the_first_of_the_queue_beyond_its_reservation(
    jobs: list[TraceRow], truth: bool
) -> None:
    promised: dict[str, int] = {}
    start = Starter.start

    def watched(starter: Starter, *arguments: object) -> None:
        start(starter, *arguments)  # type: ignore[arg-type]
        if (kept := starter.reservation) is not None:
            promised.setdefault(kept.head.work.row.id, kept.at)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Starter, "start", watched)
        outcome = run(5, jobs, policy(runtimes=Runtimes.TRUE if truth else Runtimes.LIMIT), {"gpu": 4})
    tasks = by_id(outcome)
    assert [job for job, at in promised.items() if (tasks[job].first_start or 0) > at] == []

"""The mirror that pages read: levels and verdicts are there, and only changes are written."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim


def test_jobs_carry_their_levels_origins_verdict_and_place(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6, name="l1_x")
    later = sim.submit("ann", 6)

    sim.cycle()

    row = sim.row(urgent)
    assert (row.user_level_name, row.task_level_name, row.place, row.verdict) == ("P0", "P1", 1, "preempt")
    assert "override" in row.user_origin
    assert "keyword" in row.task_origin
    assert low in row.explain
    assert row.resources == "6 cpu"
    waiting = sim.row(later)
    assert (waiting.place, waiting.verdict) == (2, "queue")
    assert sim.row(low).user_level_name == "P3"


def test_a_cycle_in_which_nothing_changed_writes_nothing_that_pages_show(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 4)
    sim.cycles(2)
    sim.cluster.refresh_from_db()
    version, cycle = sim.cluster.version, sim.cluster.cycle

    sim.cycles(3)

    sim.cluster.refresh_from_db()
    assert sim.cluster.version == version
    assert sim.cluster.cycle == cycle + 3


def test_an_open_proposal_does_not_make_pages_fetch_the_same_again(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 8)
    sim.submit("cy", 6)
    sim.cycles(2)
    sim.cluster.refresh_from_db()
    version = sim.cluster.version

    sim.cycles(3)

    sim.cluster.refresh_from_db()
    assert sim.cluster.version == version


def test_a_job_that_has_left_is_kept_as_ended(sim: Sim) -> None:
    sim.policy()
    job = sim.running("ann", 4, run_time_s=5)
    sim.cycle()
    sim.port.advance(20)
    sim.cycle()

    row = sim.row(job)

    assert sim.state(job) is None
    assert row.phase == "ended"
    assert row.ended_at is not None


def test_a_job_in_two_partitions_has_a_row_in_each(sim: Sim) -> None:
    sim.policy()
    sim.policy("wide", user_overrides={"ann": "P1"})
    sim.running("cy", 8)
    for _ in range(3):
        sim.running("cy", 8, "wide")
    from scheduler.adapters.simulator.jobs import JobSpec
    from scheduler.model.jobs import Request

    job = sim.port.submit(
        JobSpec("both", "ann", Request(nodes=1, per_node={"cpu": 8}), partitions=("x", "wide"))
    )
    sim.port.advance(1)
    assert sim.state(job) is JobState.PENDING

    sim.cycle()

    assert sim.row(job, "x").user_level_name == "P3"
    assert sim.row(job, "wide").user_level_name == "P1"


def test_the_number_of_queries_does_not_grow_with_the_jobs(sim: Sim) -> None:
    sim.policy()
    counts = []
    for _ in range(2):
        for _ in range(40):
            sim.submit("ann", 1)
        sim.cycle()
        with CaptureQueriesContext(
            connection,
        ) as queries:
            sim.cycle()
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_who_only_moves_back_in_the_line_is_written_short_and_shown_at_the_new_place(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 8)
    low = sim.submit("ann", 8)
    sim.cycles(2)
    before = sim.row(low)
    sim.cluster.refresh_from_db()
    version = sim.cluster.version
    sim.submit("bob", 8)  # of a higher level, and not high enough to have others stopped at once

    with CaptureQueriesContext(
        connection,
    ) as made:
        sim.cycle()

    after = sim.row(low)
    assert (before.place, after.place) == (1, 2)
    assert after.fingerprint == before.fingerprint
    sim.cluster.refresh_from_db()
    assert sim.cluster.version > version
    assert any('SET "place"' in each["sql"] for each in made.captured_queries)

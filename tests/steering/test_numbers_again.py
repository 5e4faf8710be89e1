"""A number that comes again is another job: Slurm begins with 1 when its state is lost, and after MaxJobId."""

import pytest
from django.test import Client

from console.accounts.models import User
from console.cluster.lives import go_on
from console.cluster.models import Job
from console.steering.explanations import read
from console.steering.facts import recent_stops
from console.steering.models import Plan
from console.steering.past import past_of
from tests.markup import words_of
from tests.steering.conftest import Sim
from tests.steering.test_lives import SETTLED, stopped_twice


def begin_again(sim: Sim) -> None:
    """Slurm's state is lost: no job is there any more, and the next one gets the first number."""
    sim.port.state.jobs.clear()
    sim.port.state.next_id = 1
    sim.port.advance(600)


@pytest.fixture
def again(sim: Sim) -> str:
    """The number of a job that was stopped twice, which another user's job has by now; it was never stopped."""
    low, _first, _second = stopped_twice(sim)
    begin_again(sim)
    sim.cycles(2)
    assert sim.row(low).phase == "ended"
    assert sim.running("bob", 8, run_time_s=10**6) == low
    sim.cycle()
    return low


def test_it_was_not_stopped_and_has_no_runs_behind_it(sim: Sim, again: str) -> None:
    row = sim.row(again)
    assert (row.user, row.restarts, row.first_submit) == ("bob", 0, row.submit)
    stops = recent_stops(sim.cluster)
    assert again not in {**stops.times, **stops.ago_s, **stops.of_job}
    assert again not in past_of(sim.cluster).runs
    known = read(sim.cluster, again)
    assert (known.acts, known.stops, known.checkpoints, known.runs) == ([], [], [], [])


def test_its_page_tells_nothing_of_the_earlier_one(
    sim: Sim, again: str, client: Client, django_user_model: type[User]
) -> None:
    client.force_login(django_user_model.objects.create_superuser("root"))
    words = words_of(client.get(f"/jobs/{again}/").content.decode())
    assert "It runs." in words and "bob" in words
    assert "ann" not in words and "stopped to make room" not in words


def test_a_plan_for_the_earlier_one_is_not_its_own(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 8, run_time_s=10**6)
    sim.cycle()
    last = sim.submit("cy", 8, run_time_s=10**6)
    sim.cycles(SETTLED)
    assert {run for run, _restarts in recent_stops(sim.cluster).beneficiaries} == {last}
    assert read(sim.cluster, last).own
    begin_again(sim)
    sim.port.state.next_id = int(last)
    assert sim.running("bob", 8, run_time_s=10**6) == last
    sim.cycle()
    assert not recent_stops(sim.cluster).beneficiaries
    assert not read(sim.cluster, last).own
    assert Plan.objects.filter(job_id=last).exists()


@pytest.mark.parametrize(("earlier_s", "partitions"), [(900, ["x"]), (0, ["other", "x"])])
def test_a_row_of_another_partition_is_of_this_job_if_it_was_submitted_with_it(
    sim: Sim, again: str, earlier_s: int, partitions: list[str]
) -> None:
    """Also of the same user, who had submitted the earlier one there."""
    row = sim.row(again)
    at = row.first_submit - earlier_s
    Job.objects.create(
        cluster=sim.cluster,
        job_id=again,
        partition="other",
        user=row.user,
        phase="ended",
        submit=at,
        first_submit=at,
    )
    assert [each.partition for each in read(sim.cluster, again).rows] == partitions


def test_once_it_has_its_own_row_an_earlier_one_elsewhere_is_nothing_to_it(sim: Sim, again: str) -> None:
    """Not even when it has been put back more often than that one was."""
    row = sim.row(again)
    Job.objects.create(
        cluster=sim.cluster,
        job_id=again,
        partition="other",
        user=row.user,
        phase="ended",
        submit=row.submit - 900,
        first_submit=row.submit - 900,
    )
    row.restarts, row.phase, first = 1, "pending", row.first_submit
    go_on(sim.cluster, [row], 100)
    assert row.first_submit == first


def test_a_job_that_is_put_back_in_a_partition_where_it_was_never_seen_stays_itself(sim: Sim) -> None:
    """It started at once in one of its partitions, and waits in both when it has been stopped."""
    low, _first, _second = stopped_twice(sim)
    row = sim.row(low)
    assert recent_stops(sim.cluster).times[low] == 2
    fields = {"job_id": low, "user": row.user, "submit": row.submit, "restarts": row.restarts}
    fresh = Job(cluster=sim.cluster, partition="other", phase="pending", **fields)
    go_on(sim.cluster, [fresh], 100)
    fresh.save()
    assert fresh.first_submit == row.first_submit < fresh.submit
    assert recent_stops(sim.cluster).times[low] == 2


def test_a_request_for_the_earlier_one_is_not_asked_for_another_users_job(sim: Sim) -> None:
    """Both wait: between two looks the number has gone from one to the other."""
    sim.policy(enforcement="approve")
    sim.running("ann", 8, run_time_s=10**6)
    urgent = sim.submit("cy", 8)
    sim.cycle()
    plan = Plan.objects.get(job_id=urgent)
    sim.port.state.jobs.clear()
    sim.port.state.next_id = int(urgent) + 1
    sim.running("ann", 8, run_time_s=10**6)
    sim.port.state.next_id = int(urgent)
    assert sim.submit("bob", 8) == urgent
    sim.cycles(2)
    plan.refresh_from_db()
    assert (plan.state, plan.user, plan.outcome) == ("expired", "cy", f"{urgent} has left the queue.")
    assert Plan.objects.get(job_id=urgent, state="proposed").user == "bob"

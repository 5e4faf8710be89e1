"""Jobs not submitted yet, and what would make those that wait start sooner: tried beside the queue."""

from datetime import timedelta

import pytest

from console.accounts.models import User
from console.core import clock
from console.starts.expecting import MOST_OPEN, Expecting, TooManyQuestionsError, ask, forget_old_starts
from console.starts.models import ExpectedStart, StartQuestion
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.model.jobs import Request
from tests import factories
from tests.steering.conftest import Sim

NEAR_S = 330
"""Moments of the play lie apart by less than a tenth; draws lie on both sides of them."""


@pytest.fixture(autouse=True)
def watched(sim: Sim) -> None:
    """Nobody is stopped: all jobs wait for room."""
    sim.policy(enforcement="shadow", min_wait_s=0)


@pytest.fixture
def cy(sim: Sim) -> User:
    """Of the highest level, as the policy of the simulation has it."""
    return factories.make_user("cyrus", cluster_user="cy")


def asked(sim: Sim, person: User, cpus: int = 8, nodes: int = 1, **keys: object) -> StartQuestion:
    wanted = Request(nodes=nodes, per_node={"cpu": cpus})
    row = ask(cluster=sim.cluster, person=person, partition="x", account="", request=wanted,
              **{"time_limit_s": 600, **keys})  # type: ignore[arg-type]  # fmt: skip
    Expecting(sim.cluster).expect_starts()
    row.refresh_from_db()
    return row


def after(row: StartQuestion | ExpectedStart) -> int:
    """In how many seconds the middle is."""
    assert row.p50 is not None
    return row.p50 - int(clock.now().timestamp())


def queued(sim: Sim) -> None:
    """The node is full for an hour; a low job of ten minutes waits for all of it."""
    sim.running("ann", 8, time_limit_s=3600)
    sim.submit("bob", 8, time_limit_s=600)
    sim.cycle()


def test_it_stands_in_line_where_its_level_puts_it(sim: Sim, cy: User) -> None:
    queued(sim)
    high = asked(sim, cy)
    low = asked(sim, factories.make_user("robert", cluster_user="bob"))
    assert after(high) == pytest.approx(3600, abs=NEAR_S)
    assert after(low) == pytest.approx(4200, abs=NEAR_S + 60)
    assert after(low) > after(high) + 300
    assert high.level
    assert (high.nodes, low.answered_at is not None) == (["n1"], True)
    assert high.level != low.level


def test_where_there_is_room_it_starts_at_once(sim: Sim, cy: User) -> None:
    sim.cycle()
    assert after(asked(sim, cy, 2)) == 0


def test_what_never_fits_has_no_start_in_sight(sim: Sim, cy: User) -> None:
    sim.cycle()
    row = asked(sim, cy, 9000)
    assert (row.p50, row.answered_at is None) == (None, False)


def test_an_open_question_is_answered_though_nothing_has_changed(sim: Sim, cy: User) -> None:
    sim.cycle()
    known = Expecting(sim.cluster)
    assert [known.expect_starts(), known.expect_starts()] == [0, None]
    known.duty.took_s = 0.0
    ask(cluster=sim.cluster, person=cy, partition="x", account="", request=Request(nodes=1, per_node={"cpu": 1}),
        time_limit_s=600)  # fmt: skip
    assert known.expect_starts() == 0
    assert StartQuestion.objects.get().answered_at


def test_who_asks_too_much_is_refused(sim: Sim, cy: User) -> None:
    keys = {"cluster": sim.cluster, "partition": "x", "account": "", "time_limit_s": 60,
            "request": Request(nodes=1, per_node={"cpu": 1})}  # fmt: skip
    for _ in range(MOST_OPEN):
        ask(person=cy, **keys)  # type: ignore[arg-type]
    with pytest.raises(TooManyQuestionsError):
        ask(person=cy, **keys)  # type: ignore[arg-type]


def test_answers_are_forgotten_after_an_hour(sim: Sim, cy: User) -> None:
    row = asked(sim, cy)
    forget_old_starts()
    assert StartQuestion.objects.exists()
    StartQuestion.objects.filter(pk=row.pk).update(asked_at=clock.now() - timedelta(hours=1, seconds=1))
    forget_old_starts()
    assert not StartQuestion.objects.exists()


def test_a_shorter_limit_is_told_where_it_makes_the_start_sooner(sim: Sim) -> None:
    # All is free in half an hour, when the first in line takes it; half of the node is free now.
    sim.running("ann", 4, time_limit_s=1800)
    first = sim.submit("bob", 8, time_limit_s=600)
    long = sim.submit("bob", 4, time_limit_s=3000)
    sim.cycle()
    Expecting(sim.cluster).expect_starts()
    rows = {row.job_id: row for row in ExpectedStart.objects.all()}
    assert after(rows[long]) > 1800
    (change,) = rows[long].sooner
    now = int(clock.now().timestamp())
    assert (change["limit_s"], change["p50"] - now) == (1500, 0)
    assert rows[first].sooner == [], "it waits for the other's end, however short it is"


def test_fewer_nodes_are_told_where_they_make_the_start_sooner(sim: Sim) -> None:
    sim.policy("wide", enforcement="shadow")
    sim.running("ann", 8, "wide", time_limit_s=1800)
    whole = Request(nodes=4, per_node={"cpu": 8})
    wide = sim.port.submit(JobSpec("bob_wide", "bob", whole, partitions=("wide",), time_limit_s=600))
    sim.cycle()
    Expecting(sim.cluster).expect_starts()
    row = ExpectedStart.objects.get(job_id=wide)
    assert [(change["nodes"], change["p50"] < (row.p50 or 0)) for change in row.sooner] == [(2, True)]

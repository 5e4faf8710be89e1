"""Growing again by a restart: only where it gains more than it costs, and within the limits on stops."""

from collections.abc import Mapping
from typing import Any

import pytest

from scheduler.contracts.snapshot import decode_snapshot, encode_snapshot
from scheduler.model.jobs import Elastic, SnapshotJob
from scheduler.model.plan import DecisionKind, Shrinking
from scheduler.model.resources import Amounts
from scheduler.preemption.explain import explain
from scheduler.preemption.planner import plan
from scheduler.preemption.restart_worth import RestartWorth, restart_worth
from tests.builders import NOW, nodes, on_nodes, one_node, pending, running, snapshot
from tests.scheduler.planning import decisions


def shrunk(
    job_id: str,
    on: Mapping[str, Amounts],
    wish: int = 4,
    left_s: int = 600,
    restart_s: int = 60,
    **fields: Any,
) -> SnapshotJob:
    """A running job that was made smaller by a restart."""
    elastic = Elastic(
        min_nodes=1, wish_nodes=wish, by=Shrinking.RESTART, ends_at=NOW + left_s, restart_s=restart_s
    )
    return running(job_id, on, user=fields.pop("user", 2), elastic=elastic, **fields)


def on(**cpus: int) -> dict[str, Amounts]:
    return {name: {"cpu": cpu} for name, cpu in cpus.items()}


@pytest.mark.parametrize(
    ("has", "gets", "left", "restart", "unsaved", "worth"),
    [
        (2, 4, 600, 60, 0, RestartWorth(300, 60)),
        (2, 3, 600, 60, 0, RestartWorth(200, 60)),
        (1, 4, 600, 60, 0, RestartWorth(450, 60)),
        (2, 4, 600, 60, 100, RestartWorth(300, 110)),
        (3, 4, 601, 60, 1, RestartWorth(150, 61)),
        (2, 4, -5, 60, 0, RestartWorth(0, 60)),
    ],
)
def test_gain_and_cost_are_seconds_until_its_end(
    has: int, gets: int, left: int, restart: int, unsaved: int, worth: RestartWorth
) -> None:
    assert restart_worth(has, gets, left, restart, unsaved) == worth
    assert worth.pays is (worth.gain_s > worth.cost_s)


def test_who_does_not_become_larger_is_an_error() -> None:
    with pytest.raises(ValueError, match="does not grow"):
        restart_worth(2, 2, 600, 60)


def test_it_grows_where_that_pays_and_says_both_figures() -> None:
    made = decisions([shrunk("T", on(n1=8, n2=8))], nodes(4))["T"]
    assert (made.action, made.nodes) == (DecisionKind.GROW, ("n3", "n4"))
    assert made.explain.endswith(
        "It starts again from its checkpoint on 4 nodes: that gains 5 min of the time it has left, "
        "and the restart costs 1 min."
    )


def test_as_much_as_it_gains_is_not_worth_it() -> None:
    assert not decisions([shrunk("T", on(n1=8, n2=8), left_s=120)], nodes(4))
    assert decisions([shrunk("T", on(n1=8, n2=8), left_s=122)], nodes(4))["T"].action is DecisionKind.GROW


def test_a_part_counts_by_what_it_is_worth_itself() -> None:
    """One of two nodes is free: 180 s gain 60 with it, and would gain 90 with both."""
    job, other = shrunk("T", on(n1=8, n2=8), left_s=180), running("R", on(n4=8), user=0)
    assert "T" not in decisions([job, other], nodes(4))
    assert decisions([job], nodes(4))["T"].nodes == ("n3", "n4")


def test_nobody_of_a_higher_rank_who_fits_is_overtaken() -> None:
    jobs = [
        shrunk("T", on(n1=8), wish=3),
        pending("higher", on_nodes(2, 8), user=1),
        pending("lower", one_node(8), user=3),
    ]
    made = decisions(jobs, nodes(3))
    assert made["higher"].action is DecisionKind.START
    assert "T" not in made
    made = decisions([job for job in jobs if job.id != "higher"], nodes(3))
    assert (made["T"].nodes, made["lower"].action) == (("n2", "n3"), DecisionKind.QUEUE)


def test_without_an_end_or_a_wish_it_does_not_grow() -> None:
    elastic = Elastic(min_nodes=1, wish_nodes=2, by=Shrinking.RESTART, restart_s=60)
    assert not decisions([running("T", on(n1=8), user=2, elastic=elastic)], nodes(2))
    assert not decisions([shrunk("T", on(n1=8), wish=1)], nodes(2))


@pytest.mark.parametrize(
    ("rules", "fields", "grows"),
    [
        ({"max_stops_per_hour": 1}, {}, ["T"]),
        ({"max_stops_per_hour": 2, "stopped": 1}, {}, ["T"]),
        ({"max_stops_per_hour": 1, "stopped": 1}, {}, []),
        ({"max_stops_per_user_hour": 1, "stopped_by_user": {"uT": 1}}, {}, ["U"]),
        ({"max_stops_per_user_hour": 1}, {}, ["T", "U"]),
        ({"max_stops_per_job_hour": 1}, {"stopped": 1}, ["U"]),
        ({"paused": "of a fire"}, {}, []),
    ],
)
def test_a_restart_is_a_stop_of_the_hour(
    rules: dict[str, Any], fields: dict[str, Any], grows: list[str]
) -> None:
    jobs = [shrunk("T", on(n1=8), wish=2, user=1, **fields), shrunk("U", on(n2=8), wish=2)]
    made = plan(snapshot(jobs, nodes(4), **rules)).decisions
    assert [each.job for each in made if each.action is DecisionKind.GROW] == grows


def test_it_can_be_written_down_and_decided_again() -> None:
    before = snapshot([shrunk("T", on(n1=8, n2=8))], nodes(4))
    assert decode_snapshot(encode_snapshot(before)) == before
    assert plan(decode_snapshot(encode_snapshot(before))) == plan(before)
    assert "Verdict: grow (grows)." in explain(before, "T")

"""Requests and victims in whole units: who is walked, what is given back, what is given in part."""

from dataclasses import replace
from typing import Any

import pytest

from scheduler.model.jobs import Elastic, Request, SnapshotJob
from scheduler.model.plan import Decision, DecisionKind, How
from scheduler.model.policy import GiveBack, Mode, OverQuota, Partial
from scheduler.model.reasons import Reason
from scheduler.preemption.explain import explain
from tests.builders import (
    HOUR,
    NOW,
    anywhere,
    ending,
    node,
    nodes,
    on_nodes,
    one_node,
    pending,
    running,
    snapshot,
)
from tests.scheduler.planning import decide, decisions


def units(
    job_id: str, count: int, unit: dict[str, int], user: int = 3, node: str = "n1", **fields: Any
) -> SnapshotJob:
    """A running job that holds so many units."""
    held = {node: {name: amount * count for name, amount in unit.items()}}
    return running(job_id, fields.pop("on", held), user=user, unit=unit, **fields)


def want(count: int, cpu: int = 1, **fields: Any) -> Request:
    """So many units of some CPUs."""
    return Request(unit={"cpu": cpu}, count=count, **fields)


def lost(decision: Decision) -> dict[str, int | How]:
    """Per victim, the units that it loses, or how it is stopped."""
    return {victim.job: victim.units or victim.how for victim in decision.victims}


PAGE = [node("n1", total={"cpu": 100, "mem": 100})]
A = units("A", 20, {"cpu": 1, "mem": 1}, 1)
B = units("B", 20, {"cpu": 3, "mem": 2}, 2)
C = units("C", 10, {"cpu": 2, "mem": 1}, 3)
E = pending("E", Request(unit={"cpu": 1, "mem": 1}, count=30), user=0)


def test_the_documents_example_and_what_remains() -> None:
    decision = decide(A, B, C, E, nodes=PAGE)
    assert lost(decision) == {"C": 9, "B": 4}
    assert (decision.units, decision.reason) == (30, Reason.LOWER_USER)
    taken = {"cpu": 4 * 3 + 9 * 2 - 30, "mem": 30 + 4 * 2 + 9 * 1 - 30}
    assert taken == {"cpu": 0, "mem": 17}, "free in the end: 0/17"
    assert (
        "C (uC, P3) gives back 9 of 10 units (18 cpu, 9 MB) and B (uB, P2) gives back 4 of 20"
        in decision.explain
    )


@pytest.mark.parametrize("request_", [one_node(4), anywhere(4), want(4)])
def test_who_holds_less_than_its_minimum_already_is_stopped_only_if_it_is_needed(request_: Request) -> None:
    """`few` is walked first, and is not enough; `big` makes enough room without it."""
    few = units("few", 1, {"cpu": 1}, elastic=Elastic(min_units=2))
    big = running("big", "n1", 4, user=2)
    decision = decide(few, big, pending(request=request_, user=0), nodes=nodes(1, 5), units=True)
    assert lost(decision) == {"big": How.REQUEUE}


def test_whole_requests_are_spared_first_where_the_partition_says_so() -> None:
    """Without C's 20/10 there is enough: C keeps all of it, and B gives all that is missing (the document's way 2)."""
    assert lost(decide(A, B, C, E, nodes=PAGE, give_back=GiveBack.WHOLE)) == {"B": 10}


def test_a_job_that_is_not_in_units_takes_units_too() -> None:
    for request in (one_node(30), anywhere(30), on_nodes(1, 30)):
        decision = decide(A, B, C, pending("J", request, user=0), nodes=PAGE)
        assert lost(decision) == {"C": 9, "B": 4}
        assert decision.units is None


def test_of_equals_the_later_submitted_goes_first_whoever_ran_longer() -> None:
    jobs = [
        units("early", 4, {"cpu": 1}, submit=NOW - 9 * HOUR, ran=60),
        units("late", 4, {"cpu": 1}, submit=NOW - 5 * HOUR, ran=4 * HOUR),
    ]
    assert lost(decide(*jobs, pending("J", want(3), user=0))) == {"late": 3}
    assert lost(decide(*jobs, pending("J", one_node(3), user=0))) == {"early": 3}, "the partition's own order"


def test_who_runs_as_a_whole_is_given_back_whole_or_not() -> None:
    jobs = [running("W", cpu=4, user=3), units("U", 4, {"cpu": 1}, 2)]
    assert lost(decide(*jobs, pending("J", want(5), user=0))) == {"W": How.REQUEUE, "U": 1}
    assert lost(decide(*jobs, pending("J", want(4), user=0))) == {"W": How.REQUEUE}
    bigger = [running("W", cpu=2, user=3), units("U", 6, {"cpu": 1}, 2)]
    assert lost(decide(*bigger, pending("J", want(6), user=0))) == {"W": How.REQUEUE, "U": 4}


def test_units_are_whole_on_a_node_and_may_lie_on_several() -> None:
    jobs = [running("R", {"n1": {"cpu": 7}, "n2": {"cpu": 5}, "n3": {"cpu": 8}}, user=0)]
    decision = decide(*jobs, pending("J", want(2, 2, partial=False), user=1), nodes=nodes(3))
    assert decision.action is DecisionKind.QUEUE, "1 and 3 CPUs hold one unit of 2, not two"
    decision = decide(*jobs, pending("J", want(2, 2), user=1), nodes=nodes(3))
    assert (decision.action, decision.units, decision.nodes) == (DecisionKind.START, 1, ("n2",))
    decision = decide(*jobs, pending("J", want(4), user=1), nodes=nodes(3))
    assert decision.placement == {"n1": {"cpu": 1}, "n2": {"cpu": 3}}


def test_units_are_taken_on_the_nodes_where_they_help() -> None:
    spread = units("U", 0, {"cpu": 2}, on={"n1": {"cpu": 8}, "n2": {"cpu": 8}, "n3": {"cpu": 2}})
    rest = running("R", "n3", 3, user=0)
    decision = decide(spread, rest, pending("J", want(2, 5), user=0), nodes=nodes(3))
    (victim,) = decision.victims
    assert (victim.units, decision.units) == (4, 2), "one from n3, which has 3 free, three from one other"
    assert dict(victim.on)["n3"] == 1


def test_who_would_fall_below_its_minimum_is_stopped_and_what_it_leaves_spares_others() -> None:
    low = units("L", 2, {"cpu": 1}, 4)
    fragile = units("F", 6, {"cpu": 1}, 3, elastic=Elastic(min_units=6))
    assert lost(decide(fragile, low, pending("J", want(4), user=0))) == {"F": How.REQUEUE}


@pytest.mark.parametrize(
    ("partial", "wants_all", "expected"),
    [
        (Partial.SPARE, False, (DecisionKind.START, 2, {})),
        (Partial.TAKE, False, (DecisionKind.PREEMPT, 5, {"U": 3})),
        (Partial.SPARE, True, (DecisionKind.QUEUE, None, {})),
        (Partial.TAKE, True, (DecisionKind.QUEUE, None, {})),
    ],
)
def test_what_cannot_be_met_is_given_in_part_as_the_partition_and_the_job_say(
    partial: Partial, wants_all: bool, expected: tuple[Any, ...]
) -> None:
    jobs = [units("U", 3, {"cpu": 1}), running("R", cpu=3, user=0)]
    asked = pending("J", want(6, partial=not wants_all), user=1)
    decision = decide(*jobs, asked, partial=partial)
    assert (decision.action, decision.units, lost(decision)) == expected
    if decision.units:
        assert decision.explain.endswith(
            f"It gets {decision.units} of its 6 units; the rest goes on waiting."
        )


def test_all_that_may_be_taken_is_of_no_use_when_it_makes_no_unit() -> None:
    jobs = [units("U", 2, {"cpu": 1}), running("R", cpu=6, user=0)]
    decision = decide(*jobs, pending("J", want(2, 4), user=1), partial=Partial.TAKE)
    assert (decision.action, decision.victims) == (DecisionKind.QUEUE, ())


def test_bands_hold_and_so_do_the_two_tiers() -> None:
    jobs = [units("U", 8, {"cpu": 1}, user=1, task=5), pending("J", want(4), user=1, task=2)]
    assert lost(decide(*jobs, mode=Mode.USER_THEN_TASK)) == {"U": 4}
    bands = ((0, 1, 2, 3, 4, 5),)
    assert decide(*jobs, mode=Mode.USER_THEN_TASK, bands=bands).action is DecisionKind.QUEUE


def test_what_was_taken_is_seen_by_the_next_and_all_of_it_may_go() -> None:
    jobs = [units("U", 8, {"cpu": 1}), *(pending(str(i), want(3), 9 - i, user=1) for i in range(1, 4))]
    made = decisions(jobs, partial=Partial.TAKE)
    assert [lost(decision) for decision in made.values()] == [{"U": 3}, {"U": 3}, {"U": 2}]
    assert [decision.units for decision in made.values()] == [3, 3, 2]


def test_units_count_for_more_once_their_job_has_lost_others_elsewhere() -> None:
    held = {"n1": {"cpu": 2}, "n2": {"cpu": 2}}
    jobs = [
        units("1", 4, {"cpu": 1}, on=held, ran=1_000),
        running("2", {"n3": {"cpu": 2}}, user=3, ran=900),
        *(pending(str(name), one_node(2), user=0) for name in (8, 9)),
    ]
    made = decisions(jobs, nodes(3, cpu=2))
    assert lost(made["8"]) == {"1": 2}, "half of its units: 500 s of work"
    assert lost(made["9"]) == {"2": How.REQUEUE}, "the other half would be all that it has left: 1,000 s"


def test_room_that_is_coming_is_waited_for() -> None:
    decision = decide(units("U", 4, {"cpu": 1}), ending("X", cpu=4), pending("J", want(3), user=0))
    assert (decision.action, decision.units) == (DecisionKind.WAIT, 3)


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ({"paused": "dave paused x"}, Reason.PAUSED),
        ({"max_stops_per_hour": 0}, Reason.HOURLY_LIMIT),
        ({"max_stops_per_user_hour": 0}, Reason.HOURLY_LIMIT),
    ],
)
def test_a_limit_holds_units_back_like_stops(rules: dict[str, Any], reason: Reason) -> None:
    jobs = [units("U", 8, {"cpu": 1}), pending("J", want(4, partial=False), user=0)]
    decision = decide(*jobs, **rules)
    assert (decision.action, decision.reason) == (DecisionKind.QUEUE, reason)
    some = [replace(jobs[0], alloc={"n1": {"cpu": 6}}), replace(jobs[1], request=want(4))]
    decision = decide(*some, **rules)
    assert (decision.action, decision.units, decision.reason) == (DecisionKind.START, 2, Reason.GETS_PART)


def test_a_part_takes_only_its_part_of_a_limit() -> None:
    rules: dict[str, Any] = {"quota_totals": {1: {"cpu": 8}}, "over_quota": OverQuota.HOLD}
    part = want(8, only_nodes=frozenset({"n1"}))
    jobs = [running("R", cpu=6, user=0), pending("1", part, 9, user=1, task=1)]
    made = decisions([*jobs, pending("2", one_node(4), 5, user=1, task=1)], nodes(2), **rules)
    assert made["1"].units == 2
    assert made["2"].action is DecisionKind.START


def test_switched_off_they_are_stopped_as_wholes() -> None:
    assert lost(decide(A, B, C, E, nodes=PAGE, units=False)) == {"B": How.REQUEUE}


def test_explaining_both_sides() -> None:
    state = snapshot([A, B, C, E], PAGE)
    assert "It is to give back 4 of its 20 units for E (uE, P0), and goes on with 16." in explain(state, "B")
    assert "E (uE, P0) needs 30 units of 1 cpu, 1 MB; free now: 30 MB." in explain(state, "E")
    lowly = snapshot([A, B, C, replace(E, user_level=3)], PAGE, partial=Partial.SPARE)
    assert "At user level P1 it would start now by taking a part of what C and B hold." in explain(lowly, "E")


def test_units_for_itself_alone_are_only_where_nobody_is() -> None:
    held, asked = running("1", "n1", 2, user=0), Request(unit={"cpu": 1}, count=3, exclusive=True)
    decision = decide(held, pending("J", asked, user=1), nodes=nodes(2, 4))
    assert (decision.action, tuple(decision.placement)) == (DecisionKind.START, ("n2",))
    both = running("2", "n2", 1, user=0)
    assert decide(held, both, pending("J", asked, user=1), nodes=nodes(2, 4)).action is DecisionKind.QUEUE

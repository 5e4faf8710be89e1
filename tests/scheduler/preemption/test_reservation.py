"""The earliest predicted start, managed dispatch and patience (spec 3.1, document 002)."""

import json
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from scheduler.contracts.snapshot import decode_snapshot
from scheduler.model.jobs import Elastic, JobState, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import Balance, Dispatch, Mode, OverQuota
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.preemption.explain import explain
from scheduler.preemption.planner import plan
from tests.builders import HOUR, NOW, anywhere, ending, node, nodes, on_nodes, one_node, pending, running
from tests.scheduler import oracle_reservation
from tests.scheduler.planning import decide, decisions, stopped
from tests.scheduler.preemption.test_balance import check_vector
from tests.scheduler.strategies import requests

VECTORS = Path(__file__).parents[2] / "vectors"
START, QUEUE, PREEMPT = DecisionKind.START, DecisionKind.QUEUE, DecisionKind.PREEMPT
WAIT, RESERVE = DecisionKind.WAIT, DecisionKind.RESERVE
MANAGED: dict[str, Any] = {"dispatch": Dispatch.MANAGED}
quick = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
CASES = json.loads((VECTORS / "reservation.json").read_text(encoding="utf-8"))


def until(job_id: str, on: str, cpu: int, seconds: int | None, **fields: Any) -> SnapshotJob:
    """A running job of the highest level that is expected to end in so many seconds."""
    end = None if seconds is None else NOW + seconds
    return running(job_id, on, cpu, **{"user": 0, "predicted_end": end, **fields})


def told(decision: Decision) -> tuple[DecisionKind, tuple[str, ...], int | None]:
    """The action, the nodes and the seconds from now."""
    return decision.action, decision.nodes, None if decision.at is None else decision.at - NOW


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_document_002(case: dict[str, Any]) -> None:
    check_vector(case)


class TestTheEarliestMoment:
    def test_jobs_release_one_after_the_other_until_it_fits(self) -> None:
        jobs = [until("a", "n1", 4, 100), until("b", "n1", 3, 50), until("c", "n2", 8, 90)]
        assert told(decide(*jobs, pending("J", one_node(4)), nodes=nodes(2), **MANAGED)) == (
            RESERVE,
            ("n1",),
            50,
        )
        assert told(decide(*jobs, pending("J", one_node(5)), nodes=nodes(2), **MANAGED)) == (
            RESERVE,
            ("n2",),
            90,
        )

    def test_several_nodes_begin_with_the_latest_of_the_earliest_ones(self) -> None:
        jobs = [until("a", "n1", 8, 500), until("b", "n2", 8, 100), until("c", "n3", 8, 300)]
        decision = decide(*jobs, pending("J", on_nodes(2, 8)), nodes=nodes(3), **MANAGED)
        assert told(decision) == (RESERVE, ("n2", "n3"), 300)

    def test_what_is_counted_together_begins_when_the_sum_is_enough(self) -> None:
        jobs = [until("a", "n1", 8, 500), until("b", "n2", 6, 100), until("c", "n3", 7, 300)]
        decision = decide(*jobs, pending("J", anywhere(10)), nodes=nodes(3), **MANAGED)
        assert told(decision) == (RESERVE, ("n2", "n3"), 300)
        units = pending("U", Request(unit={"cpu": 4}, count=3, partial=False))
        assert told(decide(*jobs, units, nodes=nodes(3), **MANAGED)) == (RESERVE, ("n2", "n3"), 300)

    def test_a_node_for_itself_is_waited_for_until_it_is_empty(self) -> None:
        jobs = [until("a", "n1", 1, 500), until("b", "n2", 1, 700), until("c", "n2", 1, 100)]
        decision = decide(*jobs, pending("J", one_node(2, exclusive=True)), nodes=nodes(2), **MANAGED)
        assert told(decision) == (RESERVE, ("n1",), 500)

    def test_an_unknown_end_is_never_waited_for(self) -> None:
        jobs = [until("a", "n1", 8, None), until("b", "n2", 8, 900)]
        assert told(decide(*jobs, pending("J", one_node(8)), nodes=nodes(2), **MANAGED))[1:] == (("n2",), 900)
        alone = decide(jobs[0], pending("J", one_node(8), user=0), nodes=nodes(1), **MANAGED)
        assert (alone.action, alone.reason) == (QUEUE, Reason.NOTHING_LOWER_RUNS)

    @pytest.mark.parametrize(("late", "again"), [(0, 60), (10, 60), (600, 600)])
    def test_who_is_overdue_is_expected_to_go_on_for_as_long_again(self, late: int, again: int) -> None:
        job = until("a", "n1", 8, -late)
        assert told(decide(job, pending("J", one_node(8)), nodes=nodes(1), **MANAGED)) == (
            RESERVE,
            ("n1",),
            again,
        )

    def test_who_is_ending_makes_room_now_and_beside_others(self) -> None:
        jobs = [ending("e", "n1", 8), until("a", "n2", 8, 100)]
        assert told(decide(*jobs, pending("J", on_nodes(2, 8)), nodes=nodes(2), **MANAGED))[2] == 100
        assert (
            decide(*jobs, pending("J", one_node(8)), nodes=nodes(2), **MANAGED).reason
            is Reason.ROOM_IS_COMING
        )


class TestManaged:
    def test_the_healthiest_then_the_nearest_then_the_fullest_node(self) -> None:
        places = [
            node("n1", health=0.9, unit="a"),
            node("n2", unit="b"),
            node("n3", unit="c"),
            node("n4", unit="c", cpu=16),
        ]
        busy = running("r", "n2", 4)
        assert decide(busy, pending("J", one_node(2)), nodes=places, **MANAGED).nodes == ("n2",)
        assert decide(busy, pending("J", on_nodes(2, 2)), nodes=places, **MANAGED).nodes == ("n3", "n4")
        assert decide(busy, pending("J", on_nodes(3, 2)), nodes=places, **MANAGED).nodes == ("n2", "n3", "n4")

    def test_small_jobs_do_not_starve_a_large_one(self) -> None:
        jobs = [
            until("a", "n1", 6, 100), pending("large", one_node(8), user=0), pending("small", one_node(2), user=1)
        ]  # fmt: skip
        made = decisions(jobs, nodes(1), **MANAGED)
        assert told(made["large"]) == (RESERVE, ("n1",), 100)
        assert made["small"].action is QUEUE
        assert decisions(jobs, nodes(1))["small"].action is START

    def test_a_higher_job_stops_others_rather_than_wait_when_there_is_no_patience(self) -> None:
        jobs = [until("a", "n1", 8, 100, user=3), pending("J", one_node(8), user=0)]
        assert stopped(decisions(jobs, nodes(1), **MANAGED)["J"]) == ["a"]
        kept = decisions(jobs, nodes(1), **MANAGED, patience_s=100)["J"]
        assert (told(kept), kept.reason) == ((RESERVE, ("n1",), 100), Reason.STARTS_SOON)
        assert decisions(jobs, nodes(1), **MANAGED, patience_s=99)["J"].action is PREEMPT

    def test_a_limit_that_forbids_stops_leaves_the_reservation(self) -> None:
        jobs = [until("a", "n1", 8, 100, user=3), pending("J", one_node(8), user=0)]
        decision = decisions(jobs, nodes(1), **MANAGED, paused="dave paused it")["J"]
        assert (told(decision), decision.reason) == ((RESERVE, ("n1",), 100), Reason.EARLIEST_START)
        assert "dave paused it" in decision.explain
        assert (
            "it can start on n1 in 1 min (2023-11-14 22:15 UTC), when a is expected to have ended."
            in decision.explain
        )

    def test_nobody_is_stopped_for_what_the_next_plan_gives(self) -> None:
        """n1 has left the set with room on it: it is B's turn there in the next plan."""
        jobs = [
            until("r", "n2", 8, None, user=3), pending("A", one_node(2), user=0), pending("B", one_node(2), user=1)
        ]  # fmt: skip
        made = decisions(jobs, nodes(2), **MANAGED)
        assert (made["A"].nodes, made["B"].action, made["B"].reason) == (("n1",), QUEUE, Reason.NEXT_PLAN)

    def test_blocked_and_held_jobs_keep_nothing(self) -> None:
        jobs = [
            until("a", "n1", 8, 100, task=0),
            pending("blocked", one_node(8), blocked="it is held"),
            pending("over", one_node(8), task=0, of="ua"),
            pending("J", one_node(8)),
        ]
        rules: dict[str, Any] = {"quotas": {0: 1}, "over_quota": OverQuota.HOLD}
        made = decisions(jobs, nodes(1), **MANAGED, **rules)
        assert [made[each].action for each in ("blocked", "over", "J")] == [QUEUE, QUEUE, RESERVE]

    def test_a_kept_node_is_no_place_for_victims(self) -> None:
        """K would stop b, but n1 is kept for J."""
        jobs = [
            until("a", "n1", 4, 100), until("b", "n1", 4, 900, user=3),
            pending("J", one_node(4), user=0), pending("K", one_node(4), user=1),
        ]  # fmt: skip
        made = decisions(jobs, nodes(1), **MANAGED, patience_s=100)
        assert (made["J"].action, made["K"].action) == (RESERVE, QUEUE)

    def test_explain_tells_when_and_what_would_change_it(self) -> None:
        jobs = (until("a", "n1", 8, 100, user=1), pending("J", one_node(8), user=2))
        rules = PartitionRules("x", Mode.USER, dispatch=Dispatch.MANAGED)
        lines = explain(Snapshot(NOW, rules, tuple(nodes(1)), jobs), "J").splitlines()
        assert (
            lines[1] == "Verdict: reserve (earliest_start). Nodes are kept for it until it can start there."
        )
        assert lines[-1] == "At user level P0 it would start now by stopping a."


class TestPatienceWhereSlurmPlaces:
    RULES: dict[str, Any] = {"patience_s": 600}

    def test_it_waits_with_the_moment_and_its_room_is_set_aside(self) -> None:
        jobs = [
            until("a", "n1", 4, 500, user=3), pending("J", one_node(8), user=0), pending("K", one_node(4), user=1)
        ]  # fmt: skip
        made = decisions(jobs, nodes(1), **self.RULES)
        assert (told(made["J"]), made["J"].reason) == ((WAIT, ("n1",), 500), Reason.STARTS_SOON)
        assert made["K"].action is QUEUE

    def test_too_late_is_too_late(self) -> None:
        jobs = [until("a", "n1", 8, 601, user=3), pending("J", one_node(8), user=0)]
        assert decisions(jobs, nodes(1), **self.RULES)["J"].action is PREEMPT

    def test_room_that_a_higher_job_takes_first_is_not_counted(self) -> None:
        """H outranks nobody and takes what a leaves at 100; so b's end at 900 is what J can count on."""
        jobs = [
            until("a", "n1", 4, 100, user=0), until("b", "n1", 4, 900, user=3),
            pending("H", one_node(4), user=0, waited=99), pending("J", one_node(4), user=1),
        ]  # fmt: skip
        made = decisions(jobs, nodes(1), **self.RULES)
        assert (told(made["H"]), stopped(made["J"])) == ((WAIT, ("n1",), 100), ["b"])

    def test_nobody_stops_the_one_whose_end_is_awaited(self) -> None:
        jobs = [
            until("a", "n1", 4, 100, user=3), until("b", "n1", 4, 900, user=3, ran=2 * HOUR),
            pending("H", one_node(4), user=0, waited=99), pending("J", one_node(4), user=1),
        ]  # fmt: skip
        made = decisions(jobs, nodes(1), **self.RULES)
        assert (made["H"].action, stopped(made["J"])) == (WAIT, ["b"])
        assert [(each.job, each.reason) for each in made["J"].passed_over] == [("a", Reason.AWAITED)]

    def test_an_elastic_job_whose_end_is_awaited_does_not_shrink(self) -> None:
        both = {name: {"cpu": 8} for name in ("n1", "n2")}
        elastic = running("a", both, user=3, predicted_end=NOW + 100, elastic=Elastic(min_nodes=1))
        jobs = [elastic, pending("H", on_nodes(2, 8), user=0), pending("J", one_node(8), user=1)]
        made = decisions(jobs, nodes(2), **self.RULES)
        assert [made[each].action for each in "HJ"] == [WAIT, QUEUE]
        assert decisions([elastic, jobs[2]], nodes(2), **self.RULES)["J"].action is DecisionKind.SHRINK

    def test_not_even_when_the_higher_job_stays_in_the_queue(self) -> None:
        """H starts at 700 at the earliest and then takes both nodes: J cannot count on n1 at 500."""
        jobs = [
            until("a", "n1", 8, 500, user=0), until("b", "n2", 8, 700, user=0),
            pending("H", on_nodes(2, 8), user=0, waited=99), pending("J", one_node(8), user=1),
        ]  # fmt: skip
        made = decisions(jobs, nodes(2), **self.RULES)
        assert [made[each].action for each in "HJ"] == [QUEUE, QUEUE]
        alone = [job for job in jobs if job.id != "H"]
        assert told(decisions(alone, nodes(2), **self.RULES)["J"]) == (WAIT, ("n1",), 500)


def test_an_even_set_is_kept_where_it_is_free_first() -> None:
    places = [node(f"n{i}", power={"cpu": power}) for i, power in enumerate((1.0, 1.3, 1.01, 1.31), start=1)]
    jobs = [until(str(i), f"n{i}", 8, seconds) for i, seconds in ((1, 100), (2, 200), (3, 400), (4, 300))]
    job = pending("J", on_nodes(2, 8), balanced=True)
    decision = decide(*jobs, job, nodes=places, balance=Balance("cpu", 0.05), **MANAGED)
    assert told(decision) == (RESERVE, ("n2", "n4"), 300)


# --- Properties --------------------------------------------------------------------------------------------


@st.composite
def futures(draw: st.DrawFn, *, most_pending: int = 4, level: int | None = None) -> Snapshot:
    """A few nodes, jobs with known, unknown and overdue ends, and pending ones of all shapes."""
    places = [
        SnapshotNode(
            f"n{i}",
            draw(st.integers(0, 9)) > 0,
            {"cpu": draw(st.integers(2, 6))},
            unit=draw(st.sampled_from("ab")),
        )
        for i in range(1, draw(st.integers(1, 4)) + 1)
    ]
    free = {place.name: place.total["cpu"] for place in places}
    jobs: list[SnapshotJob] = []
    for i in range(draw(st.integers(0, 7))):
        chosen = draw(st.lists(st.sampled_from(sorted(free)), min_size=1, max_size=2, unique=True))
        cpu = draw(st.integers(1, 4))
        if any(free[name] < cpu for name in chosen):
            continue
        for name in chosen:
            free[name] -= cpu
        job = running(
            str(100 + i), {name: {"cpu": cpu} for name in chosen}, user=draw(st.sampled_from([0, 2, 3]))
        )
        seconds = draw(st.sampled_from([None, -600, -1, 60, 60, 300, HOUR]))
        state = draw(st.sampled_from([JobState.RUNNING] * 6 + [JobState.COMPLETING]))
        jobs.append(replace(job, predicted_end=None if seconds is None else NOW + seconds, state=state))
    for i in range(draw(st.integers(1, most_pending))):
        request = draw(
            st.one_of(
                requests(places, simple=True), st.builds(one_node, st.integers(1, 6), exclusive=st.just(True))
            )
        )
        own = draw(st.sampled_from([0, 1, 2])) if level is None else level
        jobs.append(pending(str(200 + i), request, user=own, waited=draw(st.integers(0, 99))))
    dispatch = draw(st.sampled_from([Dispatch.MANAGED, Dispatch.MANAGED, Dispatch.SLURM]))
    patience = draw(st.sampled_from([0, 100, 1000])) if dispatch is Dispatch.MANAGED else 1000
    rules = PartitionRules("x", Mode.USER, dispatch=dispatch, patience_s=patience)
    return Snapshot(NOW, rules, tuple(places), tuple(jobs))


@quick
@given(futures(most_pending=1, level=9))
def test_the_moment_is_the_earliest_there_is(made: Snapshot) -> None:
    (decision,) = plan(made).decisions
    job = next(each for each in made.jobs if each.state is JobState.PENDING)
    earliest = oracle_reservation.earliest_start(made, job)
    event(decision.action.value)
    if earliest is None or (made.partition.dispatch is Dispatch.SLURM and earliest > NOW + 1000):
        assert decision.action is QUEUE
    else:
        assert (decision.at or NOW) == earliest
        assert decision.action in ({START, WAIT} if earliest == NOW else {WAIT, RESERVE})


@quick
@given(futures())
def test_no_node_holds_more_than_it_has_at_any_moment_to_come(made: Snapshot) -> None:
    decided = plan(made).decisions
    use = oracle_reservation.most_used(made, decided)
    for place in made.nodes:
        assert all(amount <= place.total[name] for name, amount in use.get(place.name, {}).items())
    if made.partition.dispatch is Dispatch.MANAGED:
        given_nodes = [name for decision in decided for name in decision.nodes]
        assert len(given_nodes) == len(set(given_nodes))


@quick
@given(
    futures(),
    requests([SnapshotNode("n1", True, {"cpu": 4}), SnapshotNode("n2", True, {"cpu": 4})], simple=True),
)
def test_a_lower_job_changes_nothing_for_those_above_it(made: Snapshot, request_of_lowest: Request) -> None:
    lowest = pending("999", request_of_lowest, user=None)
    more = replace(made, jobs=(lowest, *made.jobs))
    assert plan(more).decisions[:-1] == plan(made).decisions


@quick
@given(futures(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(made: Snapshot, chance: random.Random) -> None:
    def mixed(rows: Iterable[Any]) -> tuple[Any, ...]:
        result = list(rows)
        chance.shuffle(result)
        return tuple(result)

    assert plan(replace(made, jobs=mixed(made.jobs), nodes=mixed(made.nodes))) == plan(made)


def test_what_may_stand_in_a_snapshot_has_an_effect() -> None:
    case = json.loads(json.dumps(CASES[0]["snapshot"]))
    managed = plan(decode_snapshot(case))
    case["partition"] = {"name": "x", "mode": "user"}
    assert {decision.action for decision in plan(decode_snapshot(case)).decisions} != {
        decision.action for decision in managed.decisions
    }

"""What a limit holds back: nobody is stopped, the job says which limit, and takes nothing."""

from typing import Any

import pytest

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.reasons import Reason
from scheduler.preemption import limits
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
from tests.scheduler.planning import decide, decisions, stopped

START, WAIT, QUEUE, PREEMPT = DecisionKind.START, DecisionKind.WAIT, DecisionKind.QUEUE, DecisionKind.PREEMPT
FULL = running("1", cpu=8, user=3, of="ann")
PAUSE = "dave paused the partition x: power test"
LIMITS: list[tuple[dict[str, Any], dict[str, Any], Reason]] = [
    ({"paused": PAUSE}, {}, Reason.PAUSED),
    ({"min_wait_s": 60}, {"waited": 20}, Reason.TOO_SOON),
    ({"cool_down_s": 300}, {"stopped_at": NOW - 120}, Reason.COOL_DOWN),
    ({"max_stops_per_hour": 5, "stopped": 5}, {}, Reason.HOURLY_LIMIT),
    ({"max_stops_per_user_hour": 2, "stopped_by_user": {"ann": 2}}, {}, Reason.HOURLY_LIMIT),
]
every_limit = pytest.mark.parametrize(("rules", "fields", "reason"), LIMITS)


def urgent(cpu: int = 6, **fields: Any) -> SnapshotJob:
    return pending("J", one_node(cpu), user=0, of="cy", **fields)


def left_alone(decision: Decision) -> dict[str, Reason]:
    return {other.job: other.reason for other in decision.passed_over}


@every_limit
def test_nobody_is_stopped_and_the_reason_says_why(
    rules: dict[str, Any], fields: dict[str, Any], reason: Reason
) -> None:
    assert decide(FULL, urgent(**fields)).action is PREEMPT
    decision = decide(FULL, urgent(**fields), **rules)
    assert (decision.action, decision.reason) == (QUEUE, reason)
    assert (decision.victims, decision.nodes, decision.placement) == ((), (), {})
    assert left_alone(decision) == {"1": Reason.HELD_BACK}


@pytest.mark.parametrize(
    ("rules", "fields", "words"),
    [
        ({"paused": PAUSE}, {}, PAUSE),
        (
            {"min_wait_s": 60},
            {"waited": 20},
            "it must wait 40 s more of 1 min before others are stopped for it",
        ),
        (
            {"cool_down_s": 300},
            {"stopped_at": NOW - 120},
            "it was stopped 2 min ago: nobody is stopped for it for 3 min yet",
        ),
        ({"max_stops_per_hour": 5, "stopped": 5}, {}, "x has had 5 of 5 stops in this hour"),
        (
            {"max_stops_per_user_hour": 2, "stopped_by_user": {"ann": 2}},
            {},
            "jobs of ann were stopped 2 of 2 times in this hour",
        ),
    ],
)
def test_the_sentence_names_the_victims_and_the_limit(
    rules: dict[str, Any], fields: dict[str, Any], words: str
) -> None:
    assert decide(FULL, urgent(**fields), **rules).explain == (
        f"J (cy, P0) needs 6 cpu on one node; {words}. "
        "Stopping 1 (ann, P3, ran 1 h) would make room on n1; n1 has nothing free."
    )


@every_limit
def test_free_room_and_room_that_is_coming_may_be_taken(
    rules: dict[str, Any], fields: dict[str, Any], reason: Reason
) -> None:
    assert decide(FULL, urgent(**fields), nodes=nodes(2), **rules).action is START
    decision = decide(FULL, ending("e", "n2", 8), urgent(**fields), nodes=nodes(2), **rules)
    assert decision.action is WAIT


@every_limit
def test_what_is_held_back_takes_nothing(
    rules: dict[str, Any], fields: dict[str, Any], reason: Reason
) -> None:
    """The small job that is decided after it gets the two CPUs that are free."""
    jobs = [running("1", cpu=6, user=3, of="ann"), urgent(8, **fields), pending("K", one_node(2), user=3)]
    made = decisions(jobs, **rules)
    assert made["J"].reason is reason
    assert made["K"].action is START


@every_limit
def test_who_could_not_be_helped_anyway_is_not_told_of_a_limit(
    rules: dict[str, Any], fields: dict[str, Any], reason: Reason
) -> None:
    jobs = [running("1", cpu=4, user=3, of="ann"), running("2", cpu=4, user=0), urgent(**fields)]
    assert decide(*jobs, **rules).reason is Reason.NOT_ENOUGH_EVEN_SO
    assert decide(running("2", cpu=8, user=0), urgent(**fields), **rules).reason is Reason.NOTHING_LOWER_RUNS


@every_limit
@pytest.mark.parametrize("request_", [anywhere(12), on_nodes(2, 6), one_node(6, exclusive=True)])
def test_whatever_the_shape_of_the_request(
    request_: Any, rules: dict[str, Any], fields: dict[str, Any], reason: Reason
) -> None:
    jobs = [running("1", {"n1": {"cpu": 8}, "n2": {"cpu": 8}}, user=3, of="ann")]
    jobs.append(pending("J", request_, user=0, of="cy", **fields))
    decision = decide(*jobs, nodes=nodes(2), **rules)
    assert (decision.action, decision.reason) == (QUEUE, reason)
    assert "Stopping 1 (ann, P3, ran 1 h) would make room" in decision.explain
    assert decide(*jobs, nodes=nodes(2)).action is PREEMPT


class TestWaiting:
    def test_the_minimum_wait_is_over_on_time(self) -> None:
        assert decide(FULL, urgent(waited=59), min_wait_s=60).action is QUEUE
        assert decide(FULL, urgent(waited=60), min_wait_s=60).action is PREEMPT

    def test_the_cool_down_is_over_on_time(self) -> None:
        assert decide(FULL, urgent(stopped_at=NOW - 299), cool_down_s=300).action is QUEUE
        assert decide(FULL, urgent(stopped_at=NOW - 300), cool_down_s=300).action is PREEMPT

    def test_a_job_that_was_never_stopped_has_nothing_to_cool_down_from(self) -> None:
        assert decide(FULL, urgent(), cool_down_s=300).action is PREEMPT

    def test_a_pause_is_told_before_everything_else(self) -> None:
        everything: dict[str, Any] = {
            "paused": PAUSE, "cool_down_s": 300, "min_wait_s": 60, "max_stops_per_hour": 0,
        }  # fmt: skip
        told = []
        for key in ("paused", "cool_down_s", "min_wait_s", "max_stops_per_hour"):
            told.append(decide(FULL, urgent(stopped_at=NOW), **everything).reason)
            del everything[key]
        assert told == [Reason.PAUSED, Reason.COOL_DOWN, Reason.TOO_SOON, Reason.HOURLY_LIMIT]


class TestStopsOfThePartition:
    JOBS = tuple(running(str(i), cpu=2, user=3, ran=60 * i) for i in range(1, 5))

    def test_never_a_part_of_the_victims(self) -> None:
        decision = decide(*self.JOBS, urgent(6), max_stops_per_hour=5, stopped=3)
        assert decision.action is QUEUE
        assert "; x has had 3 of 5 stops in this hour, and 3 more are too many. Stopping" in decision.explain
        assert stopped(decide(*self.JOBS, urgent(6), max_stops_per_hour=5, stopped=2)) == ["1", "2", "3"]

    def test_what_this_plan_stops_counts(self) -> None:
        jobs = [*self.JOBS, urgent(4), pending("K", one_node(4), user=1), pending("L", one_node(2), user=2)]
        made = decisions(jobs, max_stops_per_hour=3)
        assert stopped(made["J"]) == ["1", "2"]
        assert made["K"].reason is Reason.HOURLY_LIMIT
        assert "2 of 3 stops" in made["K"].explain
        assert stopped(made["L"]) == ["3"], "one is left, and one is enough for it"

    def test_none_at_all(self) -> None:
        assert decide(FULL, urgent(), max_stops_per_hour=0).reason is Reason.HOURLY_LIMIT

    def test_more_than_allowed_were_stopped_already(self) -> None:
        """The limit was lowered meanwhile."""
        assert decide(FULL, urgent(), max_stops_per_hour=2, stopped=7).reason is Reason.HOURLY_LIMIT


class TestStopsOfAUser:
    def two_users(self, **anns: Any) -> list[SnapshotJob]:
        return [
            running("1", "n1", 8, user=3, of="ann", ran=60, **anns),
            running("2", "n2", 8, user=2, of="bob", ran=60),
        ]

    def test_another_users_job_goes_when_the_hour_is_used_up(self) -> None:
        used: dict[str, Any] = {"max_stops_per_user_hour": 2, "stopped_by_user": {"ann": 2}}
        jobs = [*self.two_users(), urgent()]
        assert stopped(decide(*jobs, nodes=nodes(2))) == ["1"]
        decision = decide(*jobs, nodes=nodes(2), **used)
        assert stopped(decision) == ["2"]
        assert left_alone(decision) == {"1": Reason.USER_LIMIT}

    def test_the_hour_may_be_used_up_within_a_plan(self) -> None:
        jobs = [
            *(running(str(i), "n1", 4, user=3, of="ann", ran=60 * i) for i in (1, 2)),
            running("3", "n2", 8, user=2, of="bob"),
            urgent(4),
            pending("K", one_node(4), user=1),
            pending("L", one_node(4), user=1, waited=9),
        ]
        made = decisions(jobs, nodes(2), max_stops_per_user_hour=1)
        assert stopped(made["J"]) == ["1"]
        assert stopped(made["K"]) == ["3"]
        assert made["L"].action is START, "bob's job leaves enough for both"

    def test_a_job_that_would_take_too_many_of_one_user_looks_elsewhere(self) -> None:
        jobs = [
            *(running(str(i), "n1", 2, user=3, of="ann", ran=60 * i) for i in (1, 2, 3, 4)),
            *(running(f"b{i}", "n2", 4, user=2, of="bob") for i in (1, 2)),
            urgent(6),
        ]
        assert stopped(decide(*jobs, nodes=nodes(2))) == ["1", "2", "3"]
        decision = decide(*jobs, nodes=nodes(2), max_stops_per_user_hour=2)
        assert stopped(decision) == ["b1", "b2"]
        assert left_alone(decision)["4"] is Reason.USER_LIMIT

    def test_as_many_of_the_users_jobs_as_are_left_may_still_go(self) -> None:
        """Two of ann's with one of bob's, rather than three of ann's."""
        jobs = [
            *(running(str(i), cpu=2, user=3, of="ann", ran=60 * i) for i in (1, 2, 3)),
            running("b", cpu=2, user=2, of="bob"),
            urgent(6),
        ]
        assert stopped(decide(*jobs, max_stops_per_user_hour=2)) == ["1", "2", "b"]

    def test_what_was_spared_for_one_job_only_may_go_for_the_next(self) -> None:
        jobs = [
            *(running(str(i), "n1", 2, user=3, of="ann", ran=60 * i) for i in (1, 2, 3, 4)),
            *(running(f"b{i}", "n2", 4, user=2, of="bob") for i in (1, 2)),
            urgent(8),
            pending("K", one_node(4), user=1),
        ]
        made = decisions(jobs, nodes(2), max_stops_per_user_hour=2)
        assert stopped(made["J"]) == ["b1", "b2"]
        assert stopped(made["K"]) == ["1", "2"]

    def test_sparing_it_for_one_job_spares_it_for_that_one_only(self) -> None:
        """J looks again without most of ann's jobs; K, which can only use the room of 5, is not bound by that."""
        jobs = [
            *(running(str(i), "n1", 2, user=3, of="ann", ran=60 * i) for i in (1, 2, 3, 4)),
            running("b", "n2", 8, user=2, of="bob"),
            running("5", "n3", 8, user=3, of="ann", ran=9 * HOUR),
            pending("J", one_node(8, not_nodes=frozenset({"n3"})), user=0),
            pending("K", one_node(8, only_nodes=frozenset({"n3"})), user=1),
        ]
        made = decisions(jobs, nodes(3), max_stops_per_user_hour=2)
        assert stopped(made["J"]) == ["b"]
        assert stopped(made["K"]) == ["5"]

    def test_held_back_when_there_is_nobody_else(self) -> None:
        jobs = [running(str(i), cpu=2, user=3, of="ann", ran=60 * i) for i in (1, 2, 3, 4)]
        decision = decide(*jobs, urgent(8), max_stops_per_user_hour=3, stopped_by_user={"ann": 1})
        assert decision.reason is Reason.HOURLY_LIMIT
        assert (
            "; jobs of ann were stopped 1 of 3 times in this hour, and 4 more are too many. Stopping"
            in decision.explain
        )
        assert set(left_alone(decision).values()) <= {Reason.USER_LIMIT, Reason.HELD_BACK}

    def test_a_second_look_may_use_up_the_partitions_hour(self) -> None:
        """One of ann's would do; bob's two are more than the partition has left."""
        jobs = [
            running("1", "n1", 8, user=3, of="ann"),
            *(running(f"b{i}", "n2", 4, user=2, of="bob") for i in (1, 2)),
            urgent(8),
        ]
        rules: dict[str, Any] = {
            "max_stops_per_user_hour": 2,
            "stopped_by_user": {"ann": 2},
            "max_stops_per_hour": 3,
        }
        assert stopped(decide(*jobs, nodes=nodes(2), **rules, stopped=1)) == ["b1", "b2"]
        decision = decide(*jobs, nodes=nodes(2), **rules, stopped=2)
        assert decision.reason is Reason.HOURLY_LIMIT
        assert "Stopping b1" in decision.explain
        assert "x has had 2 of 3 stops" in decision.explain

    def test_users_that_the_first_look_did_not_meet(self) -> None:
        """ann has too many in the first answer, bob in the second; carol's are the third."""
        jobs = [
            running(f"{name}{i}", where, 4, user=level, of=name)
            for where, name, level in (("n1", "ann", 3), ("n2", "bob", 2), ("n3", "carol", 1))
            for i in (1, 2)
        ]
        allowed: dict[str, Any] = {"max_stops_per_user_hour": 2, "stopped_by_user": {"ann": 1, "bob": 1}}
        decision = decide(*jobs, urgent(8), nodes=nodes(3), **allowed)
        assert stopped(decision) == ["carol1", "carol2"]

    def test_the_effort_of_a_plan_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A job that a longer search would help is then held back, and says so."""
        jobs = [
            *(running(str(i), "n1", 2, user=3, of="ann", ran=60 * i) for i in (1, 2, 3, 4)),
            running("b", "n2", 8, user=2, of="bob"),
            urgent(8),
        ]
        assert stopped(decide(*jobs, nodes=nodes(2), max_stops_per_user_hour=2)) == ["b"]
        monkeypatch.setattr(limits, "MOST_SPARED", 1)
        decision = decide(*jobs, nodes=nodes(2), max_stops_per_user_hour=2)
        assert decision.reason is Reason.HOURLY_LIMIT
        assert "jobs of ann" in decision.explain

    def test_who_fails_for_other_reasons_too_hears_of_the_spared_ones(self) -> None:
        jobs = [*self.two_users(preemptable=True), running("3", "n3", 8, user=0), urgent()]
        used: dict[str, Any] = {"max_stops_per_user_hour": 1, "stopped_by_user": {"ann": 1, "bob": 1}}
        decision = decide(*jobs[:3], pending("J", on_nodes(3, 6), user=0), nodes=nodes(3), **used)
        assert decision.reason is Reason.NOT_ENOUGH_EVEN_SO
        assert (
            "no lower job may be stopped (2 running, 2 of users who were stopped often enough in this hour)."
            in decision.explain
        )

    def test_a_job_of_the_same_wishes_gets_the_same_answer(self) -> None:
        """Answers are kept while nothing changes; and no longer."""
        jobs = [running(str(i), cpu=2, user=3, of="ann", ran=60 * i) for i in (1, 2, 3, 4)]
        twins = [pending(f"J{i}", one_node(8), user=0, waited=9 - i) for i in (1, 2)]
        small = pending("K", one_node(2), user=1)
        made = decisions([*jobs, *twins, small], max_stops_per_user_hour=3)
        assert made["J1"].reason is made["J2"].reason is Reason.HOURLY_LIMIT
        assert made["J2"].explain == made["J1"].explain.replace("J1 (uJ1", "J2 (uJ2")
        assert stopped(made["K"]) == ["1"]


class TestExplaining:
    def test_a_waiting_job(self) -> None:
        text = explain(snapshot([FULL, urgent()], paused=PAUSE), "J")
        assert "Verdict: queue (paused). Nobody may be stopped just now." in text
        assert "It would have been stopped, but a limit forbids that for now." in text
        assert "No level would change that." in text

    def test_a_running_job(self) -> None:
        used: dict[str, Any] = {"max_stops_per_user_hour": 2, "stopped_by_user": {"ann": 2}}
        text = explain(snapshot([FULL, urgent()], paused=PAUSE, **used), "1")
        assert f"Nobody may be stopped just now: {PAUSE}." in text
        assert "Nobody may stop it now: jobs of ann were stopped 2 of 2 times in this hour." in text
        assert "Nobody may stop it now" not in explain(
            snapshot([FULL, urgent()], max_stops_per_user_hour=3, stopped_by_user={"ann": 2}), "1"
        )


def test_words_of_people_cannot_act_on_a_terminal() -> None:
    decision = decide(FULL, urgent(), paused="dave\x1b[2J paused it")
    assert decision.explain.isprintable()


def test_a_node_that_is_down_does_not_matter() -> None:
    jobs = [running("1", "n1", 8, user=3, of="ann"), running("2", "n2", 8, user=3, of="bob"), urgent()]
    places = [node("n1"), node("n2", up=False)]
    used: dict[str, Any] = {"max_stops_per_user_hour": 1, "stopped_by_user": {"ann": 1}}
    assert decide(*jobs, nodes=places, **used).reason is Reason.HOURLY_LIMIT

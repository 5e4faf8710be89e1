"""What people read about a decision: one or two plain sentences with the numbers."""

import pytest

from scheduler.model.jobs import Request
from scheduler.model.policy import Mode, OverQuota
from scheduler.preemption.sentences import clean, need
from tests.builders import HOUR, anywhere, ending, node, nodes, on_nodes, one_node, pending, running
from tests.scheduler.planning import decide, decisions

NAMES = ("urgent", "normal", "spare")


def test_making_room_on_one_node() -> None:
    jobs = [running("101", cpu=6, user=2, ran=2 * HOUR + 14 * 60, of="ann")]
    decision = decide(*jobs, pending("102", one_node(6), user=1, of="bob"))
    assert decision.explain == (
        "102 (bob, P1) needs 6 cpu on one node; n1 has 2 cpu free. "
        "Stopping 101 (ann, P2, ran 2 h 14 min) makes room on n1."
    )


def test_several_victims_on_several_nodes() -> None:
    jobs = [running(str(i), f"n{i}", 8, user=2, ran=60 * i, of="ann") for i in (1, 2)]
    decision = decide(*jobs, pending("J", on_nodes(2, 4), user=1, of="bob"), nodes=nodes(2))
    assert decision.explain == (
        "J (bob, P1) needs 4 cpu on each of 2 nodes; n1 and n2 have nothing free together. "
        "Stopping 1 (ann, P2, ran 1 min) and 2 (ann, P2, ran 2 min) makes room on n1 and n2."
    )


def test_many_victims_are_not_all_named() -> None:
    jobs = [running(str(i), cpu=1, user=2, ran=60) for i in range(8)]
    words = decide(*jobs, pending("J", anywhere(8), user=1)).explain
    assert "Stopping 0 (u0, P2, ran 1 min), 1 (u1" in words
    assert "and 4 more makes room on n1." in words


def test_room_that_is_free() -> None:
    decision = decide(running("x", cpu=2), pending("J", one_node(4), user=1, of="bob"))
    assert decision.explain == "J (bob, P1) needs 4 cpu on one node; n1 has 6 cpu free."
    decision = decide(running("x", cpu=2), pending("J", anywhere(4), user=1, of="bob"))
    assert decision.explain == "J (bob, P1) needs 4 cpu in all; free now: 6 cpu."


def test_room_that_is_coming() -> None:
    decision = decide(ending("x", cpu=8), pending("J", one_node(4), user=1, of="bob"))
    assert decision.explain == ("J (bob, P1) needs 4 cpu on one node; ending jobs make room on n1.")


def test_nobody_lower() -> None:
    decision = decide(running("x", cpu=8, user=1), pending("J", one_node(4), user=1, of="bob"))
    assert decision.explain == "J (bob, P1) needs 4 cpu on one node; no lower job runs in x."


def test_not_enough_even_so() -> None:
    low = [running("a", cpu=2, user=3), running("b", cpu=2, user=3)]
    keeper = running("k", cpu=4, user=0)
    decision = decide(*low, keeper, pending("J", one_node(6), user=1, of="bob"))
    assert decision.explain == (
        "J (bob, P1) needs 6 cpu on one node; "
        "not enough room even by stopping all 2 lower jobs: 4 cpu together."
    )
    decision = decide(low[0], running("k", cpu=6, user=0), pending("J", one_node(6), user=1, of="bob"))
    assert "even by stopping the only lower job: 2 cpu together." in decision.explain


def test_lower_jobs_that_may_not_be_stopped_are_counted() -> None:
    spared = running("s", cpu=4, user=3, preemptable=False)
    decision = decide(spared, running("a", cpu=4, user=3), pending("J", one_node(6), user=1, of="bob"))
    assert "even by stopping the only lower job (1 more protected): 4 cpu together" in decision.explain
    alone = decide(spared, running("k", cpu=4, user=0), pending("J", one_node(6), user=1, of="bob"))
    assert "no lower job may be stopped (1 running)" in alone.explain


def test_too_much_for_the_partition() -> None:
    def said(request: Request) -> str:
        few = {"cpu": 8, "gpu": 2}
        there = [
            node("n1", total=few, features=frozenset({"a"})),
            node("n2", total=few, up=False),
            node("n3", total={"cpu": 2, "gpu": 4}),
        ]
        return decide(pending("J", request, user=1, of="bob"), nodes=there).explain

    assert said(one_node(per_node={"cpu": 9, "gpu": 4})) == (
        "J (bob, P1) needs 4 gpu, 9 cpu on one node; no node of x has 9 cpu: it can never start here."
    )
    assert said(one_node(per_node={"cpu": 8, "gpu": 4})) == (
        "J (bob, P1) needs 4 gpu, 8 cpu on one node; x has no such node: it can never start here."
    )
    assert said(on_nodes(3, 4)) == (
        "J (bob, P1) needs 4 cpu on each of 3 nodes; of such nodes x has only 2: it can never start here."
    )
    assert said(on_nodes(2, 4, features=frozenset({"a"}))).endswith(
        "of such nodes x has only 1: it can never start here."
    )
    assert said(anywhere(19)) == ("J (bob, P1) needs 19 cpu in all; x does not have that, even empty.")


def test_blocked_and_promised() -> None:
    blocked = decide(pending("J", user=1, of="bob", blocked="it is held by its user"))
    assert blocked.explain == "J (bob, P1) may not start yet: it is held by its user."
    promised = decide(pending("J", user=1, of="bob", promised={"n1": {"cpu": 1}}))
    assert promised.explain == "Room for J (bob, P1) is being made on n1."


def test_over_quota() -> None:
    jobs = [running("r", task=0, of="bob"), pending("J", one_node(1), task=0, of="bob")]
    held = decisions(jobs, mode=Mode.TASK, quotas={0: 1}, over_quota=OverQuota.HOLD)["J"]
    assert held.explain == (
        "J (bob, task L0) is held until a job of its level ends: bob may run 1 L0 job at a time and runs 1."
    )
    refused = decisions(jobs, mode=Mode.TASK, quotas={0: 1}, over_quota=OverQuota.REJECT)["J"]
    assert refused.explain.startswith("J (bob, task L0) is refused: bob may run 1 L0 job at a time")
    lowest = decisions(jobs, mode=Mode.TASK, quotas={0: 1})["J"]
    assert lowest.explain == (
        "J (bob, task L0) needs 1 cpu on one node; n1 has 7 cpu free. "
        "J counts as unconfigured: bob may run 1 L0 job at a time and runs 1."
    )


@pytest.mark.parametrize(
    ("mode", "level"),
    [
        (Mode.USER, "urgent"),
        (Mode.TASK, "task normal"),
        (Mode.USER_THEN_TASK, "urgent, task normal"),
        (Mode.TASK_THEN_USER, "urgent, task normal"),
    ],
)
def test_the_levels_that_the_mode_looks_at_by_their_names(mode: Mode, level: str) -> None:
    decision = decide(pending("J", user=0, task=1, of="bob"), mode=mode, level_names=NAMES)
    assert decision.explain.startswith(f"J (bob, {level}) needs")


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (one_node(6), "6 cpu on one node"),
        (on_nodes(3, 2), "2 cpu on each of 3 nodes"),
        (anywhere(6), "6 cpu in all"),
        (Request(nodes=1, per_node={"cpu": 16, "gpu": 4, "gpu:a100": 4}), "4 × a100, 16 cpu on one node"),
        (one_node(2, features=frozenset({"fast", "big"})), "2 cpu on one node with big and fast"),
        (one_node(2, only_nodes=frozenset({"n1", "n2"})), "2 cpu on one node out of n1 and n2"),
        (one_node(2, not_nodes=frozenset({"n3"})), "2 cpu on one node other than n3"),
        (one_node(2, exclusive=True), "2 cpu on one node for itself alone"),
    ],
)
def test_what_is_needed(request_: Request, words: str) -> None:
    assert need(request_) == words


class TestHostileText:
    NASTY = "x\n\x1b[31m\u202eevil"

    def test_control_characters_do_not_get_through(self) -> None:
        assert clean(self.NASTY) == "x??[31m?evil"
        assert clean("ordinary ö 数") == "ordinary ö 数"

    def test_very_long_texts_are_cut(self) -> None:
        assert len(clean("a" * 1000)) == 61
        assert len(clean("a" * 1000, 200)) == 201

    def test_every_sentence_is_one_printable_line_whatever_the_names(self) -> None:
        nasty = node(self.NASTY)
        jobs = [
            running(self.NASTY, {self.NASTY: {"cpu": 8}}, user=3, of=self.NASTY),
            pending("1" + self.NASTY, one_node(4), user=0, of=self.NASTY),
            pending("2" + self.NASTY, one_node(4), user=0, blocked=self.NASTY, of=self.NASTY),
            pending("3" + self.NASTY, one_node(4, features=frozenset({self.NASTY})), user=0),
            pending("4" + self.NASTY, promised={self.NASTY: {"cpu": 1}}),
        ]
        for decision in decisions(jobs, [nasty], level_names=(self.NASTY,)).values():
            assert decision.explain.isprintable(), decision.explain

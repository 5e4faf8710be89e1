"""No ping-pong, no cascade: what was stopped does not come back above the job that it made room for."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, event, example, given, settings
from hypothesis import strategies as st

from scheduler.model.jobs import JobState, Request, SnapshotJob
from scheduler.model.plan import DecisionKind, PlanningResult
from scheduler.model.policy import Mode, OverQuota
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.preemption.planner import plan
from scheduler.preemption.quotas import beyond_quota
from tests.builders import HOUR, NOW, node, nodes, one_node, pending, running, snapshot
from tests.scheduler import naive
from tests.scheduler.planning import decisions, stopped
from tests.scheduler.strategies import crowded, partitions, with_quotas

QUEUE, PREEMPT = DecisionKind.QUEUE, DecisionKind.PREEMPT
TASK = Mode.TASK
thorough = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
ONE_EACH = PartitionRules("x", TASK, quotas={0: 1})
LIMITED = {Reason.PAUSED, Reason.TOO_SOON, Reason.COOL_DOWN, Reason.HOURLY_LIMIT}


def afterwards(before: Snapshot, made: PlanningResult) -> Snapshot:
    """The plan was carried out, and those who were stopped are back in the queue."""
    victims = {victim.job for decision in made.decisions for victim in decision.victims}
    served = {decision.job for decision in made.decisions if decision.victims}
    held = {job.id: job.alloc for job in before.jobs}
    jobs = []
    for job in naive.applied(before, made).jobs:
        if job.id in victims:
            parts = list(held[job.id].values())
            back = Request(nodes=len(parts), per_node=parts[0])
            jobs.append(replace(job, blocked="", request=back, submit=before.now, stopped_at=before.now))
        else:
            jobs.append(replace(job, beneficiary=job.id in served))
    return replace(before, jobs=tuple(jobs))


def as_it_counts(after: Snapshot, job: SnapshotJob) -> SnapshotJob:
    """A job with the levels that count for it: none when it is beyond the quota."""
    if job.state is JobState.RUNNING:
        beyond = job.id in beyond_quota(after.partition, after.jobs)
    else:
        taken = naive.quota_use([other for other in after.jobs if other.state is JobState.RUNNING])
        limits = naive.quota_limits(after.partition, job)
        beyond = any(
            taken[what] + n > limits[what] for what, n in naive.quota_use([job]).items() if what in limits
        )
    return replace(job, user_level=None, task_level=None) if beyond else job


def assert_nobody_comes_back_above(before: Snapshot) -> None:
    """Everybody who was stopped ranks below the job that it was stopped for, also when both are back."""
    made = plan(before)
    after = afterwards(before, made)
    jobs = {job.id: as_it_counts(after, job) for job in after.jobs}
    for decision in made.decisions:
        for victim in decision.victims:
            assert naive.tier(before.partition, jobs[decision.job], jobs[victim.job]), (
                f"{victim.job} was stopped for {decision.job} and comes back above it"
            )
    for decision in plan(after).decisions:
        for victim in decision.victims:
            stopped_for = {d.job for d in made.decisions for v in d.victims if v.job == decision.job}
            assert victim.job not in stopped_for, f"{decision.job} stops the job that it was stopped for"


# --- Jobs beyond their users' quotas ----------------------------------------------------------------------

ANNS = (
    running("kept", cpu=4, task=2, of="ann", ran=9 * HOUR),
    running("beyond", cpu=4, task=2, of="ann", ran=HOUR),
)
LOW = pending("low", one_node(4), task=3, of="bob")
TOP = pending("top", one_node(4), task=0, of="cy")


class TestBeyondTheQuota:
    """ann may have one L2 job running and has two: the second one counts as unconfigured."""

    def test_it_is_the_first_to_yield_even_to_a_lower_job(self) -> None:
        """Stopped, it stays beyond: ann's other job keeps the slot. So it does not come back above."""
        made = decisions([*ANNS, LOW], mode=TASK, quotas={2: 1})
        assert stopped(made["low"]) == ["beyond"]
        assert_nobody_comes_back_above(snapshot([*ANNS, LOW], mode=TASK, quotas={2: 1}))

    def test_it_does_not_yield_to_a_lower_job_when_the_slot_comes_free_too(self) -> None:
        """Two top jobs need both of ann's; a third one, lower than hers, gets neither's place."""
        jobs = [
            running("kept", "n1", 8, task=2, of="ann", ran=9 * HOUR),
            running("beyond", "n2", 8, task=2, of="ann", ran=HOUR),
            pending("top", one_node(8, only_nodes=frozenset({"n1"})), task=0, of="cy"),
            pending("low", one_node(8), task=3, of="bob"),
        ]
        made = decisions(jobs, nodes(2), mode=TASK, quotas={2: 1})
        assert stopped(made["top"]) == ["kept"]
        assert (made["low"].action, made["low"].reason) == (QUEUE, Reason.NO_LASTING_ROOM)
        assert (
            "; some victims would come back above low. Stopping beyond (ann, task L2, ran 1 h) would make room on n2;"
            in made["low"].explain
        )
        assert {other.job: other.reason for other in made["low"].passed_over} == {"beyond": Reason.COMES_BACK}

    def test_it_yields_to_a_job_that_its_real_levels_are_below_in_any_case(self) -> None:
        jobs = [*ANNS, replace(TOP, request=one_node(8))]
        assert stopped(decisions(jobs, mode=TASK, quotas={2: 1})["top"]) == ["beyond", "kept"]

    def test_another_job_goes_in_its_place(self) -> None:
        jobs = [
            running("kept", "n1", 8, task=2, of="ann", ran=9 * HOUR),
            running("beyond", "n2", 8, task=2, of="ann", ran=HOUR),
            running("lowest", "n3", 8, task=None, of="dee", ran=9 * HOUR),
            pending("top", one_node(8, only_nodes=frozenset({"n1"})), task=0, of="cy"),
            pending("low", one_node(8), task=3, of="bob"),
        ]
        made = decisions(jobs, nodes(3), mode=TASK, quotas={2: 1})
        assert stopped(made["low"]) == ["lowest"]

    def test_the_slot_that_another_relies_on_is_not_freed_afterwards(self) -> None:
        """beyond yields to mid because kept holds ann's slot; then low2, whose turn is later, may not stop kept. By
        the users' levels, since only then a slot's holder ranks lower than the job without one."""
        jobs = [
            running("kept", "n1", 8, user=4, task=2, of="ann", ran=9 * HOUR),
            running("beyond", "n2", 8, user=0, task=2, of="ann", ran=HOUR),
            pending("mid", one_node(8, only_nodes=frozenset({"n2"})), user=2, of="bob"),
            pending("low2", one_node(8, only_nodes=frozenset({"n1"})), user=3, of="cy"),
        ]
        made = decisions(jobs, nodes(2), mode=Mode.USER, quotas={2: 1})
        assert stopped(made["mid"]) == ["beyond"]
        assert made["low2"].reason is Reason.NO_LASTING_ROOM
        assert_nobody_comes_back_above(snapshot(jobs, nodes(2), Mode.USER, quotas={2: 1}))

    @pytest.mark.parametrize("over_quota", list(OverQuota))
    def test_stopped_it_stops_nobody_while_the_slot_is_taken(self, over_quota: OverQuota) -> None:
        before = snapshot([*ANNS, LOW], mode=TASK, quotas={2: 1}, over_quota=over_quota)
        after = plan(afterwards(before, plan(before)))
        (back,) = (decision for decision in after.decisions if decision.job == "beyond")
        assert (back.action, back.victims) == (QUEUE, ())


class TestABeneficiaryKeepsItsSlot:
    """bob's top job was given room; a second one of his started a moment before it, in a hole."""

    JOBS = (
        running("served", "n1", 6, ran=50, task=0, of="bob", beneficiary=True),
        running("hole", "n1", 2, ran=60, task=0, of="bob"),
    )

    def test_the_other_one_is_beyond_the_quota(self) -> None:
        assert beyond_quota(ONE_EACH, self.JOBS) == {"hole"}
        plain = [replace(job, beneficiary=False) for job in self.JOBS]
        assert beyond_quota(ONE_EACH, plain) == {"served"}

    def test_what_was_stopped_for_it_does_not_stop_it(self) -> None:
        victim = pending("victim", one_node(6), task=3, of="ann", stopped_at=NOW - 60)
        assert decisions([*self.JOBS, victim], mode=TASK, quotas={0: 1})["victim"].action is QUEUE
        plain = [replace(job, beneficiary=False) for job in self.JOBS]
        assert stopped(decisions([*plain, victim], mode=TASK, quotas={0: 1})["victim"]) == ["served"]

    def test_two_of_them_go_by_their_start(self) -> None:
        jobs = [replace(job, beneficiary=True) for job in self.JOBS]
        assert beyond_quota(ONE_EACH, jobs) == {"served"}


# --- Two jobs, three jobs -----------------------------------------------------------------------------------


def test_two_jobs_whose_levels_change_places_do_not_stop_each_other_in_turn() -> None:
    """The urgency of two projects goes up and down: each swap finds the loser cooling down."""
    a, b = running("a", cpu=8, user=2, of="ann"), pending("b", one_node(8), user=1, of="bob")
    before = snapshot([a, b], cool_down_s=300)
    made = plan(before)
    assert [victim.job for victim in made.decisions[0].victims] == ["a"]
    after = afterwards(before, made)
    swapped = [replace(job, user_level=0 if job.id == "a" else 3) for job in after.jobs]
    for seconds, action in ((1, QUEUE), (299, QUEUE), (300, PREEMPT)):
        (decision,) = plan(replace(after, now=NOW + seconds, jobs=tuple(swapped))).decisions
        assert (decision.job, decision.action) == ("a", action)


def test_a_victim_does_not_stop_a_third_job_in_the_same_breath() -> None:
    """top takes mid's node; mid outranks low, which runs elsewhere, where top could not run."""
    jobs = [
        running("mid", "n1", 8, user=1, of="ann"),
        running("low", "n2", 8, user=3, of="bob"),
        pending("top", one_node(8, only_nodes=frozenset({"n1"})), user=0, of="cy"),
    ]
    for cool_down_s, action in ((300, QUEUE), (0, PREEMPT)):
        before = snapshot(jobs, nodes(2), cool_down_s=cool_down_s)
        (decision,) = plan(afterwards(before, plan(before))).decisions
        assert (decision.job, decision.action) == ("mid", action)


# --- Whatever the partition -----------------------------------------------------------------------------------


LIMITS: list[dict[str, Any]] = [
    {"quotas": {2: 1}},
    {"quotas": {2: 2}},
    {"quotas": {2: 1, 3: 1}},
    {"quota_amounts": {2: {"cpu": 4}}},
    {"quota_totals": {2: {"cpu": 4}, 3: {"cpu": 2}}},
    {"quotas": {2: 2}, "quota_amounts": {2: {"cpu": 3}}, "quota_totals": {2: {"cpu": 5}}},
]


@st.composite
def beyond_quotas(draw: st.DrawFn) -> Snapshot:
    """Full nodes, most of whose jobs are beyond their users' quotas; jobs of one user differ in user level. Others,
    without quota, want single nodes of them."""
    places = nodes(draw(st.integers(2, 4)), cpu=4)
    levels = st.integers(0, 3)
    jobs = [
        running(
            f"{place.name}{half}", place.name, cpu, ran=draw(st.integers(1, 9)) * HOUR,
            user=draw(levels), task=draw(st.sampled_from([2, 2, 3])), of=draw(st.sampled_from(["ann", "bob"])),
        )
        for place in places for half, cpu in (("a", 1), ("b", 3))
    ]  # fmt: skip
    for i in range(draw(st.integers(1, 4))):
        where = frozenset({draw(st.sampled_from(places)).name})
        wants = one_node(
            draw(st.integers(1, 4)), only_nodes=draw(st.sampled_from([where, where, frozenset()]))
        )
        jobs.append(
            pending(f"J{i}", wants, user=draw(levels), task=draw(st.sampled_from([0, 1, 2, 3, None])))
        )
    return snapshot(
        jobs,
        places,
        draw(st.sampled_from(list(Mode))),
        **draw(st.sampled_from(LIMITS)),
        over_quota=draw(st.sampled_from(list(OverQuota))),
    )


@thorough
@given(st.one_of(beyond_quotas(), with_quotas))
@example(snapshot([*ANNS, TOP, replace(LOW, submit=NOW)], [node(cpu=8)], TASK, quotas={2: 1}))
def test_nobody_comes_back_above_the_job_that_it_made_room_for(before: Snapshot) -> None:
    assert_nobody_comes_back_above(before)


@thorough
@given(partitions)
def test_with_a_cool_down_a_plan_that_was_carried_out_sets_nothing_else_going(before: Snapshot) -> None:
    two_axes = before.partition.mode in {Mode.USER_THEN_TASK, Mode.TASK_THEN_USER}
    assume(not (two_axes and before.partition.bands))  # See docs/reasons.md.
    before = replace(before, partition=replace(before.partition, cool_down_s=300))
    after = afterwards(before, plan(before))
    assert [d.job for d in plan(after).decisions if d.action is PREEMPT] == []


limits = st.fixed_dictionaries(
    {},
    optional={
        "min_wait_s": st.integers(0, 100),
        "max_stops_per_hour": st.integers(0, 4),
        "max_stops_per_user_hour": st.integers(0, 3),
        "stopped": st.integers(0, 2),
        "stopped_by_user": st.dictionaries(st.sampled_from(["ann", "bob"]), st.integers(0, 2)),
        "paused": st.sampled_from(["", "", "", "dave paused it"]),
    },
)


@thorough
@given(st.one_of(crowded(spanning=True, most_pending=4), with_quotas, beyond_quotas()), limits)
def test_no_limit_is_ever_passed(before: Snapshot, rules: dict[str, object]) -> None:
    before = replace(before, partition=replace(before.partition, **rules))  # type: ignore[arg-type]
    limit = before.partition
    jobs = {job.id: job for job in before.jobs}
    used, by_user = limit.stopped, Counter(limit.stopped_by_user)
    for decision in plan(before).decisions:
        if decision.victims:
            assert not limit.paused
            assert before.now - jobs[decision.job].submit >= limit.min_wait_s
            used += len(decision.victims)
            by_user.update(users := [jobs[victim.job].user for victim in decision.victims])
            assert limit.max_stops_per_hour is None or used <= limit.max_stops_per_hour
            if limit.max_stops_per_user_hour is not None:
                assert all(by_user[user] <= limit.max_stops_per_user_hour for user in users)
            event("stops")
        if decision.reason in LIMITED:
            assert (decision.action, decision.placement) == (QUEUE, {})
            event("held back")


@thorough
@given(crowded(spanning=True), limits)
def test_a_limit_is_told_when_it_is_the_limit_and_only_then(
    before: Snapshot, rules: dict[str, object]
) -> None:
    """One pending job: without the limits it would stop others, with them it does, or says which one forbids it."""
    (free,) = plan(before).decisions
    held = replace(before, partition=replace(before.partition, **rules))  # type: ignore[arg-type]
    (decision,) = plan(held).decisions
    if free.action is PREEMPT:
        assert decision.action is PREEMPT or decision.reason in LIMITED
        assert not decision.victims or naive.World(before).fits(
            _request(before, decision.job), {victim.job for victim in decision.victims}
        )
        event(decision.reason.value)
    else:
        assert decision == free or free.reason is decision.reason is Reason.NOT_ENOUGH_EVEN_SO


def _request(before: Snapshot, job_id: str) -> Request:
    request = next(job.request for job in before.jobs if job.id == job_id)
    assert request is not None
    return request

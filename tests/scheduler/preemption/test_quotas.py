"""Quotas per user and task level (¶200, ¶201, spec 1.3)."""

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.plan import DecisionKind
from scheduler.model.policy import Mode, OverQuota
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.preemption.planner import plan
from scheduler.preemption.quotas import Quotas, beyond_quota
from tests.builders import HOUR, anywhere, ending, node, nodes, on_nodes, one_node, pending, running
from tests.scheduler import naive
from tests.scheduler.planning import decide, decisions, stopped
from tests.scheduler.strategies import with_quotas

START, QUEUE, PREEMPT = DecisionKind.START, DecisionKind.QUEUE, DecisionKind.PREEMPT
TASK = Mode.TASK


def quota(jobs: dict[int, int], **limits: Any) -> PartitionRules:
    return PartitionRules("x", TASK, quotas=jobs, **limits)


class TestCounting:
    def test_running_jobs_of_the_user_and_level_count(self) -> None:
        jobs = [running(str(i), task=0, of="ann") for i in range(2)] + [running("x", task=0, of="bob")]
        quotas = Quotas(quota({0: 2}), jobs)
        assert quotas.over(pending(task=0, of="ann"))
        assert not quotas.over(pending(task=0, of="bob"))
        assert not quotas.over(pending(task=1, of="ann"))
        assert not quotas.over(pending(task=None, of="ann"))

    def test_ending_and_pending_jobs_take_no_slot(self) -> None:
        jobs = [ending("e", task=0, of="ann"), pending("p", task=0, of="ann")]
        assert not Quotas(quota({0: 1}), jobs).over(pending(task=0, of="ann"))

    def test_a_quota_of_zero_lets_nobody_run(self) -> None:
        assert Quotas(quota({0: 0}), []).over(pending(task=0))

    def test_starting_and_stopping_are_counted(self) -> None:
        job = running("1", task=0, of="ann")
        quotas = Quotas(quota({0: 1}), [job])
        quotas.stopped(job)
        assert not quotas.over(pending(task=0, of="ann"))
        quotas.started(pending(task=0, of="ann"))
        assert quotas.over(pending(task=0, of="ann"))
        quotas.started(pending(task=5, of="ann"))
        assert quotas.running(pending(task=0, of="ann")) == 1
        assert quotas.limit(pending(task=0, of="ann")) == 1


class TestWhoIsBeyond:
    def test_those_that_started_first_keep_their_slots(self) -> None:
        jobs = [running(str(ran), task=0, of="ann", ran=ran) for ran in (10, 30, 20)]
        assert beyond_quota(quota({0: 2}), jobs) == {"10"}
        assert beyond_quota(quota({0: 1}), jobs) == {"10", "20"}

    def test_of_two_that_started_together_the_smaller_id_keeps_it(self) -> None:
        assert beyond_quota(
            quota({0: 1}), [running("10", task=0, of="ann"), running("9", task=0, of="ann")]
        ) == {"10"}

    def test_every_user_has_slots_of_their_own_per_level(self) -> None:
        jobs = [
            running("1", task=0, of="ann"),
            running("2", task=0, of="bob"),
            running("3", task=1, of="ann"),
        ]
        assert beyond_quota(quota({0: 1, 1: 1}), jobs) == frozenset()

    def test_levels_without_quota_are_unlimited(self) -> None:
        assert (
            beyond_quota(quota({0: 1}), [running(str(i), task=1, of="ann") for i in range(5)]) == frozenset()
        )


class TestRunningBeyondQuota:
    def test_they_yield_first_as_if_nothing_were_configured(self) -> None:
        """ann's second L0 job goes before bob's L3 job, though ann started it long ago."""
        jobs = [
            running("kept", cpu=2, task=0, of="ann", ran=9 * HOUR),
            running("beyond", cpu=3, task=0, of="ann", ran=8 * HOUR),
            running("low", cpu=3, task=3, of="bob", ran=60),
        ]
        decision = decide(*jobs, pending(request=one_node(3), task=1), mode=TASK, quotas={0: 1})
        assert stopped(decision) == ["beyond"]

    def test_they_lose_their_user_level_too(self) -> None:
        jobs = [
            running("kept", cpu=4, user=0, task=0, of="ann", ran=9 * HOUR),
            running("beyond", cpu=4, user=0, task=0, of="ann", ran=HOUR),
        ]
        for mode in Mode:
            decision = decide(*jobs, pending(request=one_node(4), user=1, task=1), mode=mode, quotas={0: 1})
            assert stopped(decision) == ["beyond"]

    def test_an_unconfigured_job_still_stops_nobody(self) -> None:
        jobs = [running(str(i), cpu=4, task=0, of="ann") for i in range(2)]
        assert decide(*jobs, pending(request=one_node(4)), mode=TASK, quotas={0: 1}).action is QUEUE


class TestPendingOverQuota:
    def jobs(self) -> list[SnapshotJob]:
        return [
            running("r", cpu=4, task=0, of="ann"),
            running("low", cpu=2, task=3),
            pending("over", one_node(2), task=0, of="ann", waited=99),
            pending("over4", one_node(4), task=0, of="ann", waited=98),
            pending("other", one_node(2), task=2, of="bob"),
        ]

    def test_lowest_lets_it_use_what_is_free_after_all_the_others(self) -> None:
        made = decisions(self.jobs(), mode=TASK, quotas={0: 1})
        assert list(made) == ["other", "over", "over4"]
        assert made["other"].action is START
        assert made["over"].action is QUEUE
        assert made["over"].reason is Reason.NOTHING_LOWER_RUNS
        assert "counts as unconfigured" in made["over"].explain
        more = decisions(self.jobs(), nodes(2), mode=TASK, quotas={0: 1})
        assert [decision.action for decision in more.values()] == [START, START, START]

    def test_hold_leaves_it_in_the_queue_even_where_there_is_room(self) -> None:
        made = decisions(self.jobs(), nodes(2), mode=TASK, quotas={0: 1}, over_quota=OverQuota.HOLD)
        assert list(made) == ["over", "over4", "other"]
        assert made["over"].action is made["over4"].action is QUEUE
        assert made["over"].reason is Reason.OVER_QUOTA_HELD
        assert "may run 1 L0 job at a time and runs 1" in made["over"].explain

    def test_reject_says_so(self) -> None:
        made = decisions(self.jobs(), nodes(2), mode=TASK, quotas={0: 1}, over_quota=OverQuota.REJECT)
        assert made["over"].reason is Reason.OVER_QUOTA_REJECTED

    def test_the_slots_fill_up_within_one_cycle(self) -> None:
        jobs = [pending(f"J{i}", one_node(1), task=0, of="ann", waited=9 - i) for i in range(4)]
        made = decisions(jobs, mode=TASK, quotas={0: 2}, over_quota=OverQuota.HOLD)
        assert [decision.action for decision in made.values()] == [START, START, QUEUE, QUEUE]

    def test_a_slot_that_this_plan_frees_can_be_used_in_it(self) -> None:
        """bob's L0 job stops ann's L1 job; that frees ann's only L1 slot for her other job."""
        jobs = [
            running("anns", cpu=6, task=1, of="ann"),
            pending("bobs", one_node(8), task=0, of="bob"),
            pending("anns2", one_node(1), task=1, of="ann"),
        ]
        made = decisions(jobs, nodes(2, cpu=8)[:1], mode=TASK, quotas={1: 1}, over_quota=OverQuota.HOLD)
        assert stopped(made["bobs"]) == ["anns"]
        assert made["anns2"].reason is not Reason.OVER_QUOTA_HELD

    def test_a_blocked_job_is_blocked_first(self) -> None:
        jobs = [running("r", task=0, of="ann"), pending("J", task=0, of="ann", blocked="it is held")]
        made = decisions(jobs, mode=TASK, quotas={0: 1}, over_quota=OverQuota.HOLD)
        assert made["J"].reason is Reason.BLOCKED


def test_the_documents_partition_of_ten_gpus_with_its_quotas() -> None:
    """¶200: one P0, three P1, five P2 jobs per user; the sixth P2 job of a user is the first to yield."""
    gpus = {"gpu": 1}
    jobs = [running(f"a{i}", {"n1": gpus}, task=2, of="a", ran=HOUR * (i + 1)) for i in range(6)]
    others = [running(f"b{i}", {"n1": gpus}, task=2, of="b", ran=60) for i in range(4)]
    urgent = pending("c", one_node(per_node=gpus), task=0, of="c")
    decision = decide(
        *jobs, *others, urgent, nodes=[node(total={"gpu": 10})], mode=TASK, quotas={0: 1, 1: 3, 2: 5}
    )
    assert stopped(decision) == ["a0"]


# --- What jobs hold together ------------------------------------------------------------------------------

GPUS = [node(name, total={"cpu": 64, "gpu": 8, "gpu:a100": 8}) for name in ("n1", "n2")]


def gpus(count: int, **fields: Any) -> Any:
    return one_node(per_node={"gpu": count}, **fields)


class TestAmounts:
    def jobs(self) -> list[SnapshotJob]:
        return [
            running("r", {"n1": {"cpu": 4, "gpu": 3, "gpu:a100": 3}}, task=0, of="ann"),
            pending("fits", gpus(1), task=0, of="ann", waited=99),
            pending("over", gpus(2), task=0, of="ann", waited=98),
            pending("never", gpus(5), task=0, of="ann", waited=97),
            pending("cpus", one_node(50), task=0, of="ann", waited=96),
            pending("bobs", gpus(4), task=0, of="bob", waited=95),
            pending("low", gpus(2), task=1, of="ann", waited=94),
        ]

    def test_a_users_jobs_of_a_level_hold_no_more_together(self) -> None:
        """What asks for no GPU, belongs to another user or to another level is under no limit of GPUs."""
        limits: dict[str, Any] = {"quota_amounts": {0: {"gpu": 4}}, "over_quota": OverQuota.HOLD}
        made = decisions(self.jobs(), GPUS, TASK, **limits)
        assert {name: decision.action for name, decision in made.items()} == {
            "fits": START, "over": QUEUE, "never": QUEUE, "cpus": START, "bobs": START, "low": START,
        }  # fmt: skip
        assert made["over"].reason is made["never"].reason is Reason.OVER_QUOTA_HELD
        assert (
            "ann's running L0 jobs may hold 4 gpu together and hold 4 gpu; it asks for 2 gpu."
            in made["over"].explain
        )
        assert "may hold 4 gpu together; it alone asks for 5 gpu." in made["never"].explain

    def test_all_users_together_hold_no_more_than_the_total(self) -> None:
        limits: dict[str, Any] = {"quota_totals": {0: {"gpu": 7}}, "over_quota": OverQuota.HOLD}
        made = decisions(self.jobs(), GPUS, TASK, **limits)
        assert [name for name, decision in made.items() if decision.action is QUEUE] == ["never", "bobs"]
        assert (
            "running L0 jobs may hold 7 gpu together and hold 6 gpu; it asks for 4 gpu."
            in made["bobs"].explain
        )

    def test_what_is_asked_of_several_nodes_counts_on_each(self) -> None:
        taken = [running("r", {"n1": {"gpu": 1}, "n2": {"gpu": 2}}, task=0, of="ann")]
        quotas = Quotas(quota({}, quota_amounts={0: {"gpu": 8}}), taken)
        asked = [on_nodes(2, per_node={"gpu": n}) for n in (2, 3)] + [
            anywhere(spread={"gpu": n}) for n in (5, 6)
        ]
        assert [quotas.over(pending(request=each, task=0, of="ann")) for each in asked] == [False, True] * 2

    def test_lowest_makes_the_one_that_started_last_the_first_to_yield(self) -> None:
        jobs = [
            running("kept", {"n1": {"gpu": 4}}, task=0, of="ann", ran=9 * HOUR),
            running("beyond", {"n2": {"gpu": 8}}, task=0, of="ann", ran=HOUR),
            running("small", {"n1": {"gpu": 4}}, task=1, of="bob", ran=60),
        ]
        decision = decide(*jobs, pending("J", gpus(4), task=0, of="cy"), nodes=GPUS, mode=TASK,
                          quota_amounts={0: {"gpu": 8}})  # fmt: skip
        assert stopped(decision) == ["beyond"]

    def test_one_that_is_beyond_still_counts_for_those_after_it(self) -> None:
        """Else the last one would become beyond, long after it started, because the first one ended."""
        jobs = [
            running("first", cpu=4, task=0, of="ann", ran=30),
            running("second", cpu=6, task=0, of="ann", ran=20),
            running("third", cpu=4, task=0, of="ann", ran=10),
        ]
        rules = quota({}, quota_amounts={0: {"cpu": 8}})
        assert beyond_quota(rules, jobs) == {"second", "third"}
        assert beyond_quota(rules, jobs[1:]) == {"third"}


# --- Whatever the partition -------------------------------------------------------------------------------

few = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


@few
@given(with_quotas, st.sampled_from([OverQuota.HOLD, OverQuota.REJECT]))
def test_no_plan_starts_more_than_the_quota(before: Snapshot, over_quota: OverQuota) -> None:
    """Counted by hand, decision by decision, victims gone."""
    before = replace(before, partition=replace(before.partition, over_quota=over_quota))
    jobs = {job.id: job for job in before.jobs}
    there = {job.id for job in before.jobs if job.state is JobState.RUNNING}
    for decision in plan(before).decisions:
        job = jobs[decision.job]
        there -= {victim.job for victim in decision.victims}
        limits = naive.quota_limits(before.partition, job)
        if decision.action is not QUEUE:
            there.add(job.id)
            taken = naive.quota_use(jobs[each] for each in there)
            asked = naive.quota_use([job])
            assert all(taken[what] <= limits[what] for what in asked if what in limits)
            event("under a limit" if limits else "under none")


@few
@given(with_quotas)
def test_limits_that_are_never_reached_change_nothing(before: Snapshot) -> None:
    wide = {level: {"cpu": 10**6, "gpu": 10**6} for level in range(4)}
    none = replace(before.partition, quota_amounts={}, quota_totals={})
    far = replace(none, quota_amounts=wide, quota_totals=wide)
    assert plan(replace(before, partition=none)) == plan(replace(before, partition=far))


@few
@given(with_quotas, st.data())
def test_nobody_comes_to_be_beyond_because_another_job_ends(before: Snapshot, data: st.DataObject) -> None:
    beyond = beyond_quota(before.partition, before.jobs)
    ended = data.draw(st.sampled_from(before.jobs))
    left = [job for job in before.jobs if job is not ended]
    assert beyond_quota(before.partition, left) <= beyond

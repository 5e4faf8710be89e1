"""Quotas per user and task level (¶200, ¶201, spec 1.3)."""

from scheduler.model.jobs import Job
from scheduler.model.plan import DecisionKind
from scheduler.model.policy import Mode, OverQuota
from scheduler.model.reasons import Reason
from scheduler.preemption.quotas import Quotas, beyond_quota
from tests.builders import HOUR, ending, node, nodes, one_node, pending, running
from tests.scheduler.planning import decide, decisions, stopped

START, QUEUE, PREEMPT = DecisionKind.START, DecisionKind.QUEUE, DecisionKind.PREEMPT
TASK = Mode.TASK


class TestCounting:
    def test_running_jobs_of_the_user_and_level_count(self) -> None:
        jobs = [running(str(i), task=0, of="ann") for i in range(2)] + [running("x", task=0, of="bob")]
        quotas = Quotas({0: 2}, jobs)
        assert quotas.over(pending(task=0, of="ann"))
        assert not quotas.over(pending(task=0, of="bob"))
        assert not quotas.over(pending(task=1, of="ann"))
        assert not quotas.over(pending(task=None, of="ann"))

    def test_ending_and_pending_jobs_take_no_slot(self) -> None:
        jobs = [ending("e", task=0, of="ann"), pending("p", task=0, of="ann")]
        assert not Quotas({0: 1}, jobs).over(pending(task=0, of="ann"))

    def test_a_quota_of_zero_lets_nobody_run(self) -> None:
        assert Quotas({0: 0}, []).over(pending(task=0))

    def test_starting_and_stopping_are_counted(self) -> None:
        job = running("1", task=0, of="ann")
        quotas = Quotas({0: 1}, [job])
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
        assert beyond_quota({0: 2}, jobs) == {"10"}
        assert beyond_quota({0: 1}, jobs) == {"10", "20"}

    def test_of_two_that_started_together_the_smaller_id_keeps_it(self) -> None:
        assert beyond_quota({0: 1}, [running("10", task=0, of="ann"), running("9", task=0, of="ann")]) == {
            "10"
        }

    def test_every_user_has_slots_of_their_own_per_level(self) -> None:
        jobs = [
            running("1", task=0, of="ann"),
            running("2", task=0, of="bob"),
            running("3", task=1, of="ann"),
        ]
        assert beyond_quota({0: 1, 1: 1}, jobs) == frozenset()

    def test_levels_without_quota_are_unlimited(self) -> None:
        assert beyond_quota({0: 1}, [running(str(i), task=1, of="ann") for i in range(5)]) == frozenset()


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
    def jobs(self) -> list[Job]:
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
        assert "may have 1 L0 job running at a time and has 1" in made["over"].explain

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

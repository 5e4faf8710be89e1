"""Why a pending job cannot start whatever room there is, and why a running one may not be stopped."""

from typing import Any

import pytest

from scheduler.adapters.slurm.arrays import AT_THE_LIMIT
from scheduler.model.jobs import JobState
from scheduler.model.policy import NotRequeueable
from scheduler.reconcile.blocking import why_blocked, why_protected
from scheduler.reconcile.immunity import must_be_cancelled
from tests.builders import HOUR, NOW, observed, policy


def blocked(partition_state: str = "UP", **fields: Any) -> str:
    return why_blocked(observed(**fields), partition_state, NOW)


def protected(preemptions: int = 0, *, cancels: bool = False, most: int = 3, **fields: Any) -> str:
    job = observed(state=JobState.RUNNING, **fields)
    kind = NotRequeueable.CANCEL if cancels else NotRequeueable.LEAVE
    rules = policy(not_requeueable=kind, cancel_notice_s=0, max_preemptions_per_job=most)
    return why_protected(job, rules, preemptions, NOW)


class TestBlocked:
    @pytest.mark.parametrize(
        "reason",
        [
            "",
            "None",
            "(null)",
            "Resources",
            "(Resources)",
            "Priority",
            "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
            "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions",
            # Slurm 26.05
            "No suitable topology unit found",
            "No_suitable_topology_unit_found_for_segment",
            "Insufficient resources in topology unit",
            "Weight-based selection could not satisfy request within topology unit",
        ],
    )
    def test_a_job_that_waits_for_room_or_its_turn_is_not(self, reason: str) -> None:
        assert blocked(slurm_reason=reason) == ""

    @pytest.mark.parametrize(
        ("reason", "words"),
        [
            ("Dependency", "it waits for another job"),
            ("DependencyNeverSatisfied", "the job that it depends on did not end as it wants"),
            ("BeginTime", "its begin time has not come"),
            ("JobArrayTaskLimit", "its array runs as many tasks as it may"),
            ("Reservation", "its reservation has not begun or is full"),
            ("Licenses", "it waits for licences"),
            ("ReqNodeNotAvail, UnavailableNodes:n1", "a node that it names is down, drained or reserved"),
            (
                "ReqNodeNotAvail, May be reserved for other job",
                "a node that it names is down, drained or reserved",
            ),
            ("BadConstraints", "no node can ever meet its constraints"),
            ("PartitionTimeLimit", "it asks for more time than the partition allows"),
            ("InvalidAccount", "its account is not valid"),
            ("AssocGrpCpuLimit", "a limit of its account is reached (AssocGrpCpuLimit)"),
            ("QOSMaxJobsPerUserLimit", "a limit of its QOS is reached (QOSMaxJobsPerUserLimit)"),
            ("QOSNotAllowed", "its QOS may not use the partition"),
            ("PartitionConfig", "its partition cannot give what it asks for"),
            ("SomethingNewInSlurm99", "Slurm says SomethingNewInSlurm99"),
            ("a text of a later release", "Slurm says a text of a later release"),
            ("RaisedSignal:10(User_defined_signal_1)", "its last run was ended by a signal"),
            ("RaisedSignal:10(User defined signal 1)", "its last run was ended by a signal"),
        ],
    )
    def test_any_other_reason_of_slurms_blocks(self, reason: str, words: str) -> None:
        """Also one that is not known here: nobody is stopped for a job that would not start."""
        assert blocked(slurm_reason=reason) == words

    def test_the_code_of_a_reason_counts_and_not_its_text(self) -> None:
        assert blocked(slurm_reason="a text of a later release", reason_code="Resources") == ""
        assert blocked(slurm_reason="No suitable topology unit found", reason_code="Licenses") == (
            "it waits for licences"
        )
        assert blocked(slurm_reason="no room", reason_code="New") == "Slurm says no room"

    @pytest.mark.parametrize(
        ("reason", "words"),
        [
            ("JobHeldUser", "it is held by its user"),
            ("JobHeldAdmin", "it is held by an administrator"),
            ("JobHoldMaxRequeue", "it is held"),
            ("job requeued in held state", "it is held"),
            ("Resources", "it is held"),
            ("", "it is held"),
        ],
    )
    def test_a_held_job_says_by_whom_if_that_is_known(self, reason: str, words: str) -> None:
        assert blocked(held=True, slurm_reason=reason) == words

    @pytest.mark.parametrize(
        ("state", "words"),
        [
            ("UP", ""),
            ("DRAIN", ""),
            ("DOWN", "the partition is DOWN"),
            ("INACTIVE", "the partition is INACTIVE"),
            ("NOT UNDERSTOOD", "the partition is NOT UNDERSTOOD"),
            ("inactive", "the partition is INACTIVE"),
        ],
    )
    def test_a_partition_that_starts_nothing_blocks_all(self, state: str, words: str) -> None:
        """In DRAIN no job can be submitted, but those in the queue start."""
        assert blocked(state) == words

    def test_a_dependency_is_told(self) -> None:
        words = blocked(dependency="afterok:17(unfulfilled)", slurm_reason="Priority")
        assert words == "it waits for another job (afterok:17(unfulfilled))"

    def test_a_begin_time_to_come(self) -> None:
        assert blocked(eligible=NOW + 1) == "its begin time has not come"
        assert blocked(eligible=NOW) == ""

    def test_what_cannot_be_planned_for(self) -> None:
        assert blocked(unplannable="it asks for GPUs per socket") == (
            "no room can be made for it: it asks for GPUs per socket"
        )
        assert blocked(request=None) == "what it asks for is not known"

    def test_a_task_beyond_its_arrays_limit(self) -> None:
        """The same words, whether Slurm says it or it is counted: while fewer run, Slurm calls every task ready."""
        assert blocked(unplannable=AT_THE_LIMIT, slurm_reason="Priority") == blocked(
            slurm_reason="JobArrayTaskLimit"
        )

    def test_what_is_not_understood_of_a_held_job_is_told_too(self) -> None:
        assert blocked(held=True, unplannable="its CoreSpec is not told") == (
            "it is held, and no room can be made for it: its CoreSpec is not told"
        )

    def test_the_strongest_cause_is_told_first(self) -> None:
        everything = {
            "held": True,
            "slurm_reason": "JobHeldUser",
            "dependency": "afterok:1",
            "eligible": NOW + 9,
        }
        assert blocked("DOWN", **everything) == "it is held by its user"
        assert blocked("DOWN", dependency="afterok:1") == "the partition is DOWN"

    def test_long_words_of_the_cluster_are_cut(self) -> None:
        assert len(blocked(slurm_reason="x" * 1000)) < 100
        assert len(blocked(dependency="x" * 1000)) < 150
        assert len(blocked(unplannable="x" * 1000)) < 200


class TestProtected:
    def test_an_ordinary_batch_job_is_not(self) -> None:
        assert protected() == ""

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"slurm_state": "SUSPENDED"}, "it is suspended"),
            (
                {"not_understood": "its share of n2 is not told"},
                "not everything that Slurm tells of it is understood: its share of n2 is not told",
            ),
            ({"slurm_state": "suspended"}, "it is suspended"),
            ({"het_job_id": "17"}, "it is part of a heterogeneous job"),
            ({"reservation": "maint"}, "it runs in the reservation maint"),
            ({"batch": False}, "it is interactive and cannot be requeued"),
            ({"requeue": False}, "it was submitted with --no-requeue"),
        ],
    )
    def test_what_protects_a_job(self, fields: dict[str, Any], words: str) -> None:
        assert protected(**fields) == words

    @pytest.mark.parametrize("fields", [{"batch": False}, {"requeue": False}])
    def test_what_cannot_be_requeued_may_be_cancelled_where_the_partition_says_so(
        self, fields: dict[str, Any]
    ) -> None:
        assert protected(cancels=True, **fields) == ""
        assert must_be_cancelled(observed(state=JobState.RUNNING, **fields), policy())
        assert not must_be_cancelled(observed(state=JobState.RUNNING), policy())

    @pytest.mark.parametrize(
        "fields",
        [
            {"slurm_state": "SUSPENDED"},
            {"het_job_id": "1"},
            {"reservation": "r"},
            {"not_understood": "its row"},
        ],
    )
    def test_permission_to_cancel_does_not_lift_the_other_protections(self, fields: dict[str, Any]) -> None:
        assert protected(cancels=True, **fields)

    @pytest.mark.parametrize(
        ("left_s", "limit_s", "words"),
        [
            # Slurm ends it at its deadline, waiting or held, and begins no run that could not be over by then.
            (600, 300, "its deadline leaves no time for another run"),
            (2 * HOUR - 1, HOUR, "its deadline leaves no time for another run"),
            (2 * HOUR, HOUR, ""),
            (HOUR, None, ""),
            (HOUR - 1, None, "its deadline leaves no time for another run"),
        ],
    )
    def test_a_deadline_that_leaves_no_time_for_another_run(
        self, left_s: int, limit_s: int | None, words: str
    ) -> None:
        assert protected(deadline=NOW + left_s, time_limit_s=limit_s) == words
        # Where Giveway may end jobs for good, this is no worse.
        assert protected(deadline=NOW + left_s, time_limit_s=limit_s, cancels=True) == ""

    def test_a_job_is_stopped_only_so_often(self) -> None:
        assert protected(2, most=3) == ""
        assert protected(3, most=3) == "it was stopped 3 times, as often as the partition allows"
        assert protected(4, most=3) == "it was stopped 4 times, as often as the partition allows"
        assert protected(1, most=1) == "it was stopped once, as often as the partition allows"
        assert protected(0, most=0) == "the partition allows no job to be stopped"

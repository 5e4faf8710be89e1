"""From what was observed and configured to the planner's input."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.observation import ObservedPartition
from scheduler.model.plan import Decision, DecisionKind, How
from scheduler.model.policy import Mode, NotRequeueable, OverQuota, Partial, ProjectFacts, VictimOrder
from scheduler.model.snapshot import PartitionRules
from scheduler.preemption.planner import plan
from scheduler.reconcile.build import Built, PartitionNotObservedError, rules_of, snapshot_for
from tests.builders import NOW, node, nodes, observation, observed, one_node, policy, project

RUNNING, COMPLETING, PENDING = JobState.RUNNING, JobState.COMPLETING, JobState.PENDING


def built(
    *jobs: ObservedJob,
    places: Sequence[SnapshotNode] | None = None,
    preemptions: Mapping[str, int] | None = None,
    projects: Sequence[ProjectFacts] = (),
    **rules: Any,
) -> Built:
    return snapshot_for(observation(jobs, places), policy(**rules), projects, preemptions=preemptions or {})


def test_rules_come_from_the_policy_with_quotas_by_rank() -> None:
    rules = policy(
        mode=Mode.TASK,
        victim_order=VictimOrder.LEAST_LOST_WORK,
        bands=((0,), (1, 2)),
        exempt_s=60,
        quotas={"P2": 5, "P0": 1},
        over_quota=OverQuota.HOLD,
        cool_down_s=0,
        rest_s=600,
        max_stops_per_job_hour=1,
        max_crashes_per_hour=3,
    )
    assert rules_of(rules) == PartitionRules(
        "x",
        Mode.TASK,
        VictimOrder.LEAST_LOST_WORK,
        ((0,), (1, 2)),
        60,
        {2: 5, 0: 1},
        OverQuota.HOLD,
        ("P0", "P1", "P2"),
        rest_s=600,
        max_stops_per_job_hour=1,
        max_crashes_per_hour=3,
        partial=Partial.TAKE,
    )


def test_the_clusters_clock_is_the_plans_clock() -> None:
    assert built().snapshot.now == NOW


class TestJobs:
    def test_a_pending_job_gets_its_levels_and_keeps_what_it_asks_for(self) -> None:
        made = built(observed("7", name="p2_x", account="alpha", request=one_node(3)), projects=[project()])
        (job,) = made.snapshot.jobs
        assert (job.user_level, job.task_level) == (0, 2)
        assert job.request == one_node(3)
        assert job.start is None
        assert job.blocked == ""
        assert made.standings["7"].project == "alpha"
        assert made.standings["7"].task_origin == "keyword p2"

    def test_a_running_job_keeps_its_run_and_its_room(self) -> None:
        made = built(observed("7", RUNNING, start=NOW - 5, restarts=2, alloc={"n1": {"cpu": 4}}))
        (job,) = made.snapshot.jobs
        assert job.run == observed("7", RUNNING, start=NOW - 5, restarts=2).run
        assert job.alloc == {"n1": {"cpu": 4}}
        assert job.request is None
        assert job.preemptable
        assert job.how is How.REQUEUE

    def test_an_ending_job_is_neither_protected_nor_blocked(self) -> None:
        (job,) = built(observed("7", COMPLETING, batch=False)).snapshot.jobs
        assert job.state is COMPLETING
        assert job.preemptable
        assert job.blocked == job.protected == ""

    def test_protection_and_the_way_of_stopping(self) -> None:
        (job,) = built(observed("7", RUNNING, batch=False)).snapshot.jobs
        assert not job.preemptable
        assert job.protected == "it is interactive and cannot be requeued"
        (job,) = built(
            observed("7", RUNNING, batch=False), not_requeueable=NotRequeueable.CANCEL, cancel_notice_s=0
        ).snapshot.jobs
        assert job.preemptable
        assert job.how is How.CANCEL

    def test_a_job_that_was_stopped_often_enough_is_protected(self) -> None:
        jobs = [observed("7", RUNNING), observed("8", RUNNING)]
        made = built(*jobs, preemptions={"7": 3, "8": 2})
        assert [job.preemptable for job in made.snapshot.jobs] == [False, True]

    def test_a_blocked_job_says_why(self) -> None:
        (job,) = built(observed("7", held=True, slurm_reason="JobHeldUser")).snapshot.jobs
        assert job.blocked == "it is held by its user"

    def test_an_array_task_keeps_its_own_id(self) -> None:
        assert built(observed("41_7", array_job_id="41")).snapshot.jobs[0].id == "41_7"


class TestOtherPartitions:
    SHARED = (
        ObservedPartition("x", nodes=("n1", "n2")),
        ObservedPartition("y", nodes=("n2", "n3")),
    )

    def partition(self, name: str, *jobs: ObservedJob) -> Built:
        seen = observation(jobs, nodes(3), partitions=self.SHARED)
        return snapshot_for(seen, policy(name=name), (), preemptions={})

    def test_only_the_partitions_own_nodes_count(self) -> None:
        assert [place.name for place in self.partition("x").snapshot.nodes] == ["n1", "n2"]
        assert [place.name for place in self.partition("y").snapshot.nodes] == ["n2", "n3"]

    def test_what_their_jobs_hold_on_shared_nodes_is_not_ours_to_plan(self) -> None:
        alloc = {"n2": {"cpu": 3}, "n3": {"cpu": 4}}
        others = [
            observed("1", RUNNING, partitions=("y",), alloc=alloc),
            observed("2", RUNNING, partitions=("y",), alloc={"n2": {"cpu": 1}}),
        ]
        made = self.partition("x", *others)
        assert {place.name: place.held_elsewhere for place in made.snapshot.nodes} == {
            "n1": {},
            "n2": {"cpu": 4},
        }
        assert made.snapshot.jobs == ()
        assert made.standings == {}

    def test_what_their_ending_jobs_hold_is_coming(self) -> None:
        """Also of those that are being stopped, while they are still seen running."""
        others = [
            observed("1", RUNNING, partitions=("y",), alloc={"n2": {"cpu": 3}}),
            observed("2", COMPLETING, partitions=("y",), alloc={"n2": {"cpu": 1}}),
            observed("3", RUNNING, partitions=("y",), alloc={"n2": {"cpu": 2}}),
        ]
        seen = observation(others, nodes(3), partitions=self.SHARED)
        stopped = frozenset({others[2].run})
        made = snapshot_for(seen, policy(name="x"), (), preemptions={}, ending=stopped)
        shared = made.snapshot.nodes[1]
        assert (shared.held_elsewhere, shared.coming_elsewhere) == ({"cpu": 3}, {"cpu": 3})
        assert not made.snapshot.nodes[0].coming_elsewhere

    def test_nobody_is_stopped_for_room_that_an_ending_job_of_another_partition_leaves(self) -> None:
        """It counted as held: a lower job was stopped, and the other ended a moment later."""
        rules = policy(user_overrides={"low": "P2", "urgent": "P0"})
        other = observed("1", RUNNING, partitions=("y",), alloc={"n2": {"cpu": 8}})
        jobs = [
            observed("2", RUNNING, user="low", alloc={"n1": {"cpu": 8}}),
            observed("3", user="urgent", request=one_node(8)),
        ]

        def decided(first: ObservedJob) -> Decision:
            seen = observation([first, *jobs], nodes(3), partitions=self.SHARED)
            return plan(snapshot_for(seen, rules, (), preemptions={}).snapshot).decisions[0]

        assert decided(other).action is DecisionKind.PREEMPT
        waits = decided(replace(other, state=COMPLETING))
        assert (waits.action, waits.nodes, waits.victims) == (DecisionKind.WAIT, ("n2",), ())

    def test_what_a_node_holds_already_is_kept(self) -> None:
        shared = node(held_elsewhere={"cpu": 1, "mem": 5})
        job = observed("1", RUNNING, partitions=("y",), alloc={"n1": {"cpu": 2}})
        assert built(job, places=[shared]).snapshot.nodes[0].held_elsewhere == {"cpu": 3, "mem": 5}

    def test_a_pending_job_for_several_partitions_counts_in_each(self) -> None:
        both = observed("1", partitions=("x", "y"))
        assert [job.id for job in self.partition("x", both).snapshot.jobs] == ["1"]
        assert [job.id for job in self.partition("y", both).snapshot.jobs] == ["1"]

    def test_pending_jobs_of_other_partitions_hold_nothing(self) -> None:
        made = self.partition("x", observed("1", partitions=("y",)))
        assert all(not place.held_elsewhere for place in made.snapshot.nodes)

    def test_a_job_on_a_node_that_has_left_the_partition_keeps_the_rest(self) -> None:
        job = observed("1", RUNNING, alloc={"n1": {"cpu": 2}, "n3": {"cpu": 2}})
        assert self.partition("x", job).snapshot.jobs[0].alloc == {"n1": {"cpu": 2}}

    def test_a_partition_that_is_not_there_is_an_error_of_its_own(self) -> None:
        with pytest.raises(PartitionNotObservedError, match="no partition nowhere"):
            self.partition("nowhere")


def test_the_whole_way_from_an_observation_to_victims() -> None:
    """beta's member runs, alpha's member asks: alpha scores more."""
    alpha = project("alpha", ["ann"])
    beta = project("beta", ["bob"], size=10, urgency=1)
    jobs = [
        observed("1", RUNNING, user="bob", account="beta", alloc={"n1": {"cpu": 6}}),
        observed("2", RUNNING, user="guest", alloc={"n1": {"cpu": 2}}, batch=False),
        observed("3", user="ann", account="alpha", request=one_node(6)),
        observed("4", user="ann", account="alpha", request=one_node(1), held=True),
    ]
    made = built(*jobs, projects=[alpha, beta])
    decisions = {decision.job: decision for decision in plan(made.snapshot).decisions}
    assert [victim.job for victim in decisions["3"].victims] == ["1"]
    assert decisions["4"].action is DecisionKind.QUEUE
    assert "P0" in decisions["3"].explain
    assert "P2" in decisions["3"].explain


def test_an_empty_cluster() -> None:
    made = built(places=[])
    assert made.snapshot.nodes == ()
    assert plan(made.snapshot).decisions == ()

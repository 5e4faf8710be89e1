"""What else could be done, for the person who is asked to approve a plan: the same moment, planned again differently.

1. Waiting: when Slurm itself expects the job to start, if it does.
2. The other order of victims (the shortest runs first, or the least lost work).
3. Whom it would take if this plan's victims were spared.

Planning costs time in a large partition, so each cycle does it for a few plans only; the others follow.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from console.cluster.models import Job as MirroredJob
from console.steering.decisions.deciding import Verdicts
from console.steering.models import Plan
from console.steering.plans.new_plans import still_runs, tasks_in, victims_of
from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.plan import MAKES_ROOM
from scheduler.model.policy import VictimOrder
from scheduler.model.sentence import say
from scheduler.model.snapshot import Snapshot
from scheduler.reconcile.decide import decide

PER_CYCLE = 3
"""How many plans get their alternatives in one cycle."""
SPARED = say("alternative.spared")

WAIT, ORDER, SPARE = "wait", "other_order", "spare"


def add_alternatives(plans: Iterable[Plan], verdicts: Verdicts) -> None:
    """Give the plans whose alternatives are not there, or have changed, theirs: as many as a cycle has time for.

    The verdicts must be those that the plans rest on: of the cycle that made them, or of one that left them alone.
    """
    for plan in [plan for plan in plans if _wants_some(plan, verdicts)][:PER_CYCLE]:
        plan.alternatives = [_waiting(plan), _other_order(plan, verdicts), _sparing(plan, verdicts)]
        plan.save(update_fields=["alternatives"])


def _wants_some(plan: Plan, verdicts: Verdicts) -> bool:
    """There are none yet, or a job that one of them would stop no longer runs."""
    return not plan.alternatives or any(
        not still_runs(victim, verdicts) for each in plan.alternatives for victim in each["victims"]
    )


def _waiting(plan: Plan) -> dict[str, Any]:
    row = MirroredJob.objects.filter(cluster=plan.cluster_id, job_id=plan.job_id, partition=plan.partition)
    expected = row.values_list("estimated_start", flat=True).first()
    return {"kind": WAIT, "possible": True, "starts_at": expected, "victims": [], "nodes": [], "explain": ""}


def _other_order(plan: Plan, verdicts: Verdicts) -> dict[str, Any]:
    rules = verdicts.snapshot.partition
    least = rules.victim_order is VictimOrder.LEAST_LOST_WORK
    order = VictimOrder.SHORTEST_RUNTIME if least else VictimOrder.LEAST_LOST_WORK
    snapshot = replace(
        verdicts.snapshot,
        partition=replace(rules, victim_order=order),
        jobs=tuple(_until(plan.job_id, verdicts)),
    )
    return {"kind": ORDER, "order": order.value, **_outcome(plan, snapshot, verdicts)}


def _sparing(plan: Plan, verdicts: Verdicts) -> dict[str, Any]:
    spared = {victim["job"] for victim in plan.victims}
    jobs = (
        replace(job, preemptable=False, protected=SPARED) if job.id in spared else job
        for job in _until(plan.job_id, verdicts)
    )
    return {"kind": SPARE, **_outcome(plan, replace(verdicts.snapshot, jobs=tuple(jobs)), verdicts)}


def _until(beneficiary: str, verdicts: Verdicts) -> Iterable[SnapshotJob]:
    """The jobs without the pending ones that are decided after the beneficiary: they change nothing for it."""
    order = [decision.lead or decision.job for decision in verdicts.decisions]
    # Its array's tasks stand behind it, with those of them that get no room now.
    place = max(n for n, job in enumerate(order) if job == beneficiary)
    array = verdicts.jobs[beneficiary].group
    after = {
        decision.job
        for decision in verdicts.decisions[place + 1 :]
        if not array or verdicts.jobs[decision.job].group != array
    }
    return (job for job in verdicts.snapshot.jobs if job.state is not JobState.PENDING or job.id not in after)


def _outcome(plan: Plan, snapshot: Snapshot, verdicts: Verdicts) -> dict[str, Any]:
    decision = next(each for each in decide(snapshot).decisions if each.job == plan.job_id)
    possible = decision.action in MAKES_ROOM
    return {
        "possible": possible,
        "victims": victims_of(decision, verdicts) if possible else [],
        "nodes": list(decision.nodes),
        "placement": {node: dict(taken) for node, taken in decision.placement.items()} if possible else {},
        "tasks": tasks_in(decision, verdicts) if possible else [],
        "explain": decision.explain,
    }

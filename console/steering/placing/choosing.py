"""Which jobs are to be placed, on which nodes, and which have to wait: from the decisions of a cycle. Pure.

A job is placed where the partition enforces its plans and has a rule for even sets, if that rule is for it. It must be
a job that can be told to begin somewhere: a batch job in one partition, no part of an array or of a heterogeneous job,
that waits for nothing but room.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from console.steering.decisions.deciding import Verdicts
from console.steering.exchanging.sets import runner_of, under_way
from console.steering.keeping.wishes import Wish
from console.steering.models import Plan
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.observation import Observation
from scheduler.model.plan import MAKES_ROOM, Decision, DecisionKind
from scheduler.model.policy import Enforcement
from scheduler.model.reasons import Reason
from scheduler.model.resources import Amounts, covers, subtract

MOST_AT_ONCE = 4
"""So many jobs have nodes chosen for them at the same time, in a cluster; the others wait."""
FOR_WANT_OF_EVENNESS = frozenset({Reason.NO_EVEN_SET, Reason.NOT_MEASURED, Reason.SWAPS_A_NODE})
"""There is room, but Slurm must not give it to the job."""
_PREDICTED = frozenset({Reason.STARTS_SOON, Reason.EARLIEST_START})
_GETS_ROOM = MAKES_ROOM | {DecisionKind.START, DecisionKind.WAIT}


class Treatment(StrEnum):
    """What is to become of a job."""

    PLACE = "place"
    """It starts on the nodes of its decision, as soon as they are free."""
    WAIT = "wait"
    """Slurm is not to start it."""
    GIVE_BACK = "give_back"
    """It was kept from starting, and is nobody to be placed: Slurm may start it."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A job with what is to become of it. `is_free`: all that it gets of its nodes is free now."""

    partition: str
    job: ObservedJob
    what: Treatment
    decision: Decision
    is_free: bool = False

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes on which it is to start, sorted."""
        return tuple(sorted(self.decision.nodes)) if self.what is Treatment.PLACE else ()


def choose(
    verdicts: Iterable[Verdicts],
    observation: Observation,
    holds: Callable[[str], bool],
    plans: Iterable[Plan] = (),
) -> list[Chosen]:
    """All jobs that concern us, in the order of their ranks. `holds`: whether a failure holds a partition.

    A job whose begin time is its user's, or Slurm's, does not: that time is theirs. Nor do the two jobs of an exchange
    among the `plans`, whose nodes are settled; but the one that waits has to begin there, if it was kept from starting.
    """
    exchanged = _exchanged(plans)
    jobs = {job.id: job for job in observation.jobs if job.state is JobState.PENDING}
    found: list[Chosen] = []
    taken: set[str] = set()
    for verdict in verdicts:
        if not may_place(verdict) or holds(verdict.facts.row.name):
            continue
        for one in _of_partition(verdict, jobs, observation, exchanged):
            full = sum(each.what is Treatment.PLACE for each in found) >= MOST_AT_ONCE
            if one.what is Treatment.PLACE and (full or taken.intersection(one.nodes)):
                one = Chosen(one.partition, one.job, Treatment.WAIT, one.decision)  # noqa: PLW2901 - it waits its turn
            taken.update(one.nodes)
            found.append(one)
    return found


def may_place(verdict: Verdicts) -> bool:
    """Whether the partition's policy wants jobs placed, and nothing speaks against doing anything there."""
    facts = verdict.facts
    enforced = facts.policy.enforcement is Enforcement.ENFORCE and not (facts.paused or verdict.is_undecided)
    return enforced and facts.policy.balance is not None


def wishes_of(chosen: Iterable[Chosen], now: int) -> list[Wish]:
    """The nodes that are to be kept for the jobs that are placed."""
    return [Wish(one.partition, one.job, one.nodes, now) for one in chosen if one.what is Treatment.PLACE]


def _exchanged(plans: Iterable[Plan]) -> dict[str, Mapping[str, Amounts]]:
    """By job, what the one that waits gets in an exchange that is under way; of the other one nothing."""
    found: dict[str, Mapping[str, Amounts]] = {}
    for plan in under_way(plans):
        found |= {runner_of(plan)["job"]: {}, plan.job_id: plan.placement}
    return found


def _of_partition(
    verdict: Verdicts,
    jobs: Mapping[str, ObservedJob],
    observation: Observation,
    exchanged: Mapping[str, Mapping[str, Amounts]],
) -> Iterator[Chosen]:
    name, now = verdict.facts.row.name, observation.taken_at
    for decision in verdict.decisions:
        job = jobs.get(decision.job)
        if job is None or not (job.to_be_placed or job.eligible is None or job.eligible <= now):
            continue
        if job.id in exchanged:
            room = exchanged[job.id]
            if room and job.to_be_placed:
                settled = replace(decision, nodes=tuple(sorted(room)), placement=room)
                free = is_free(observation, job.id, room)
                yield Chosen(name, job, Treatment.PLACE, settled, free)
        elif _can_be_placed(job, verdict) and _gets_nodes(decision):
            yield Chosen(
                name, job, Treatment.PLACE, decision, is_free(observation, job.id, decision.placement)
            )
        elif (what := _without_nodes(job, verdict, decision)) is not None:
            yield Chosen(name, job, what, decision)


def _without_nodes(job: ObservedJob, verdict: Verdicts, decision: Decision) -> Treatment | None:
    """What is to become of one that gets none: nothing, where it is Slurm's to start it and Slurm may."""
    if not _can_be_placed(job, verdict) or _has_waited(job, verdict):
        return Treatment.GIVE_BACK if job.to_be_placed else None
    return Treatment.WAIT if job.to_be_placed or decision.reason in FOR_WANT_OF_EVENNESS else None


def _can_be_placed(job: ObservedJob, verdict: Verdicts) -> bool:
    planned = verdict.jobs.get(job.id)
    if planned is None or not planned.balanced or planned.blocked:
        return False
    part = bool(job.array_job_id or job.het_job_id or job.dependency or job.reservation)
    return job.batch and not part and not job.held and len(job.partitions) == 1


def _has_waited(job: ObservedJob, verdict: Verdicts) -> bool:
    """Whether it is put off no longer: not even the nearest set is there, so Slurm is to keep room for it."""
    balance = verdict.snapshot.partition.balance
    return balance is not None and balance.has_waited(verdict.snapshot.now - verdict.jobs[job.id].submit)


def _gets_nodes(decision: Decision) -> bool:
    """Whether it gets nodes now, or as soon as others have left. A moment that is only predicted is no such thing."""
    one = decision.units is None and not (decision.lead or decision.tasks)
    return (
        one
        and bool(decision.placement)
        and decision.action in _GETS_ROOM
        and decision.reason not in _PREDICTED
    )


def is_free(observation: Observation, job_id: str, placement: Mapping[str, Amounts]) -> bool:
    """Whether a job would get all of this now: of nodes that take jobs, and that are kept for nobody else."""
    observation = observation.planned
    nodes = {node.name: node for node in observation.nodes if node.name in placement and node.up}
    if nodes.keys() != placement.keys():
        return False
    if any(nodes.keys() & set(kept.nodes) for kept in observation.kept if kept.job_id != job_id):
        return False
    free = {name: dict(node.total) for name, node in nodes.items()}
    for name, node in nodes.items():
        subtract(free[name], node.held_elsewhere)
        subtract(free[name], node.coming_elsewhere)
    for job in observation.jobs:
        for name in job.alloc.keys() & free.keys():
            subtract(free[name], job.alloc[name])
    return all(covers(free[name], wanted) for name, wanted in placement.items())

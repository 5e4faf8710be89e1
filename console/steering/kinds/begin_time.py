"""Which jobs are to be placed, on which nodes, and which have to wait: from the decisions of a cycle. Pure.

A job is placed where the partition enforces its plans and has a rule for even sets, if that rule is for it. It must be
a job that can be told to begin somewhere: a batch job in one partition, no part of an array or of a heterogeneous job,
that waits for nothing but room.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

import structlog
from django.db import transaction
from django.db.models import QuerySet

from console.audit.services import SYSTEM, Context, Subject, record
from console.cluster.models import Cluster
from console.cluster.services import show_change
from console.steering.context import CycleContext
from console.steering.deciding import Verdicts
from console.steering.kinds.reservation import Wish
from console.steering.kinds.swap import runner_of, under_way
from console.steering.ledger import execute
from console.steering.models import ChosenPlace, KeptPlace, Plan
from scheduler.model.actions import Action, ActionKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.observation import Observation
from scheduler.model.plan import MAKES_ROOM, Decision, DecisionKind
from scheduler.model.policy import Enforcement
from scheduler.model.reasons import Reason
from scheduler.model.resources import Amounts, covers, subtract
from scheduler.model.sentence import say

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


# Starting jobs on the nodes that were chosen for them, and no sooner.
#
# Slurm starts a job that has room at once, wherever it likes. So one that is to have an even set does not begin
# (`ActionKind.BEGIN`) until its nodes are there. From then on:
#
# 1. It has to wait, or its nodes are not free yet: its begin time is moved on whenever it is near.
# 2. Nodes are chosen: they are kept for it (`keeping`), so that nobody else gets them.
# 3. The next look shows that they are kept, and free: it may begin, and Slurm tries these nodes first.
# 4. It is seen running: on these nodes, or, which is told, on others.
#
# Where the cluster does not keep its nodes, because of somebody else's reservation for instance, it begins without that
# rather than wait for ever.
#
# All of it ends by itself: without cycles the begin time passes and Slurm starts the job like any other. What was asked
# is written down before; asking twice does no harm.

# --- The audit rows of jobs that are placed, and a line in the log for each ---


log = structlog.get_logger(__name__)


def tell_placed(row: ChosenPlace, action: str, reason: str = "") -> None:
    """Write down what became of a job that is to be placed. Renewals of its begin time are not told."""
    told: dict[str, object] = {"nodes": row.nodes}
    if row.got:
        told["runs_on"] = row.got
    where = {"cluster": row.cluster.name, "partition": row.partition}
    record(
        actor=SYSTEM,
        action=action,
        subject=Subject(
            type="job", id=row.job_id, label=f"{row.job_id} ({row.user})", job_id=row.job_id, **where
        ),
        after=told,
        reason=reason or row.explain,
        context=Context(cycle=row.cluster.cycle),
    )
    transaction.on_commit(partial(log.info, action, **where, job=row.job_id, **told))


LATER_S = 25
"""So far off a begin time is set."""
RENEW_S = 13
"""It is moved on when it is so near."""
STARTS_WITHIN_S = 10
"""So long Slurm has to start a job that may begin, before it is kept from starting again."""
GIVES_UP_S = 20
"""So long the cluster may refuse to keep nodes for a job that are free; then it begins without."""
LONGEST_USER = 64


def _chosen(cluster: int) -> QuerySet[ChosenPlace]:
    return ChosenPlace.objects.filter(cluster=cluster)


def place_jobs(cluster: Cluster, context: CycleContext, chosen: Sequence[Chosen]) -> int:
    """Bring begin times in line with what was chosen; how many jobs were asked for."""
    known = {row.job_id: row for row in _chosen(cluster.pk)}
    for row in known.values():
        row.cluster = cluster
    jobs = context.observation.jobs_by_id
    if known:
        _follow(cluster, context, known, jobs, {one.job.id for one in chosen})
    now = context.observation.taken_at
    refused = _refused(cluster, now) if chosen else frozenset()
    at_once = {
        one.job.id: one
        for one in chosen
        if one.what is Treatment.GIVE_BACK
        or _may_begin(one, context)
        or (one.is_free and one.job.id in refused)
    }
    others = [one for one in chosen if one.job.id not in at_once]
    later = {one.job.id: one for one in others if _is_to_be_put_off(one, known.get(one.job.id), now)}
    news = {one.job.id: one for one in others if _is_news(one, known.get(one.job.id))}
    if not (at_once or later or news):
        return 0

    def claim() -> list[tuple[ObservedJob, Action]]:
        for one in {**news, **later, **at_once}.values():
            _write(cluster, known, one, now, begins=one.job.id in at_once)
        show_change(cluster)
        begin = [(one.job, now) for one in at_once.values() if one.job.to_be_placed]
        begin += [(one.job, now + LATER_S) for one in later.values()]
        return [(job, Action(ActionKind.BEGIN, job.run, value=str(moment))) for job, moment in begin]

    # One that was in vain is seen at the next look: the job still waits, and is asked for again.
    execute(context, ActionKind.BEGIN, claim)
    return len(at_once) + len(later)


def _follow(
    cluster: Cluster,
    context: CycleContext,
    known: dict[str, ChosenPlace],
    jobs: Mapping[str, ObservedJob],
    concerned: Iterable[str],
) -> None:
    """See what became of those that were asked for."""
    over = [row for row in known.values() if _is_over(row, jobs.get(row.job_id), concerned)]
    started = [
        (row, sorted(job.alloc))
        for row in known.values()
        if not row.got and (job := jobs.get(row.job_id)) is not None and job.state is JobState.RUNNING
    ]
    if not (over or started):
        return
    with transaction.atomic():
        context.lease.renew()
        for row, nodes in started:
            row.got = nodes
            row.save(update_fields=["got"])
            if nodes == row.nodes:
                tell_placed(row, "job.placed")
            else:
                tell_placed(row, "job.placed_elsewhere", say("placed.elsewhere"))
        ChosenPlace.objects.filter(pk__in=[row.pk for row in over]).delete()
        show_change(cluster)
    for row in over:
        del known[row.job_id]


def _is_over(row: ChosenPlace, job: ObservedJob | None, concerned: Iterable[str]) -> bool:
    """Whether the job has left, was put back, or is nobody to be placed any more."""
    if job is None or job.state is JobState.COMPLETING:
        return True
    return job.state is JobState.PENDING and (bool(row.got) or job.id not in concerned)


def _may_begin(one: Chosen, context: CycleContext) -> bool:
    """Whether its nodes are seen kept for it, and free."""
    kept = {each.job_id: tuple(sorted(each.nodes)) for each in context.observation.kept}
    return one.what is Treatment.PLACE and one.is_free and kept.get(one.job.id) == one.nodes


def _refused(cluster: Cluster, now: int) -> frozenset[str]:
    """The jobs for which the cluster has not kept nodes, though it was asked to for a while."""
    places = KeptPlace.objects.filter(cluster=cluster, moved__lte=now - GIVES_UP_S).exclude(refused="")
    return frozenset(places.values_list("job_id", flat=True))


def _is_news(one: Chosen, row: ChosenPlace | None) -> bool:
    return row is None or row.nodes != list(one.nodes)


def _is_to_be_put_off(one: Chosen, row: ChosenPlace | None, now: int) -> bool:
    if one.job.to_be_placed:
        return (one.job.eligible or 0) - now < RENEW_S
    return row is None or now - row.begun >= STARTS_WITHIN_S


def _write(cluster: Cluster, known: dict[str, ChosenPlace], one: Chosen, now: int, *, begins: bool) -> None:
    row, job = known.get(one.job.id), one.job
    if one.what is Treatment.GIVE_BACK:
        fresh = row or ChosenPlace(
            cluster=cluster, job_id=job.id, partition=one.partition, user=job.user[:LONGEST_USER], since=now
        )
        tell_placed(fresh, "job.given_back", say("placed.given_back"))
        if row is not None:
            row.delete()
            del known[job.id]
        return
    is_new = row is None
    row = known[job.id] = row or ChosenPlace(cluster=cluster, job_id=job.id, since=now)
    began = row.begun
    row.partition, row.user = one.partition, job.user[:LONGEST_USER]
    if is_new or row.nodes != list(one.nodes):  # While room is being made, the words are about that.
        row.nodes, row.explain = list(one.nodes), one.decision.explain
    row.begun = (began if now - began < STARTS_WITHIN_S else now) if begins else 0
    row.save()
    if is_new:
        tell_placed(row, "job.put_off")
    if row.begun and row.begun != began:
        tell_placed(row, "job.begins")

"""What a cycle needs to know besides the observation: policies, projects, and what is under way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet

from console.cluster.models import Cluster
from console.core import clock, kept_queries
from console.core.kept_queries import AskedMoment
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.projects.selectors import core_projects
from console.steering.decisions.held_together import held_together
from console.steering.decisions.past import PastRuns, past_of
from console.steering.decisions.patience import Foresight, foresee
from console.steering.decisions.putting_off import PuttingOff, putting_off
from console.steering.decisions.regrowing import Regrowing, regrowing
from console.steering.decisions.rejections import Rejections, recent_rejections
from console.steering.decisions.resizable import Resizable, resizable
from console.steering.decisions.stops import REMEMBER, Stops, recent_stops
from console.steering.exchanging.sets import comes_back, gets, gives_up, is_exchange
from console.steering.models import (
    STOP_KINDS,
    ActionState,
    Pause,
    Plan,
    PlanKind,
    PlannedAction,
    PlanState,
)
from console.steering.served import jobs_served, rooms_left
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import RunKey
from scheduler.model.observation import Resizing
from scheduler.model.policy import PartitionPolicy, ProjectFacts
from scheduler.model.sentence import say
from scheduler.reconcile.decide import Outstanding

UNDER_WAY = (ActionState.PLANNED, ActionState.EXECUTING, ActionState.ISSUED)
SHRINKING = (*STOP_KINDS, ActionKind.SHRINK)
MISREAD = timedelta(days=1)
"""How long a stop that was seen to work is kept in mind, should its run be seen again."""
BACK_OFF = timedelta(minutes=2)
"""After a plan was undone, its job gets no second one for this long; `putting_off` says when it is longer."""


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """A partition's policy in force. `paused`: why nobody may be stopped there just now, in words; else empty."""

    row: Partition
    policy: PartitionPolicy
    revision: int
    paused: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything the database knows that decisions depend on.

    `stops`: what was stopped lately. `past`: what is behind each job. `quota_held`: jobs that Giveway holds because
    of a quota. `refused`: runs that Slurm refused to stop. `backed_off`: jobs whose last plan was undone a moment ago,
    with the words that say so. `foresight`: when running jobs are expected to end, and who is patient. `put_off`: who
    is not tried again for longer, because nobody could start it in the room that was made.
    """

    partitions: Mapping[str, PartitionFacts]
    projects: Sequence[ProjectFacts]
    stops: Stops
    plans: Sequence[Plan]
    outstanding: Outstanding
    quota_held: frozenset[str] = frozenset()
    refused: frozenset[RunKey] = frozenset()
    backed_off: Mapping[str, str] = field(default_factory=dict)
    put_off: PuttingOff = field(default_factory=lambda: PuttingOff(clock.now()))
    rejections: Rejections = field(default_factory=dict)
    past: PastRuns = field(default_factory=PastRuns)
    held_together: frozenset[str] = frozenset()
    foresight: Foresight = field(default_factory=Foresight)
    resizable: Resizable = field(default_factory=Resizable)
    regrowing: Regrowing = field(default_factory=Regrowing)

    @property
    def policies(self) -> list[PartitionPolicy]:
        """The policies of all partitions."""
        return [partition.policy for partition in self.partitions.values()]

    @property
    def preemptions(self) -> Mapping[str, int]:
        """How often Giveway has stopped each job."""
        return self.stops.times


def run_of(action: PlannedAction) -> RunKey:
    """The run of the job that an action is aimed at."""
    return RunKey(action.job_id, action.run_start, action.run_restarts)


def partition_policies(cluster: Cluster) -> dict[str, PartitionFacts]:
    """The policies in force, by the partition's name."""
    rows = kept_queries.rows(_in_force, cluster.pk)
    pauses = pauses_of(cluster)
    return {
        row.name: PartitionFacts(row, policy_of(row), row.revision.number, why_paused(row.name, pauses))
        for row in rows
        if row.revision is not None
    }


def _in_force(cluster: int) -> QuerySet[Partition]:
    return Partition.objects.filter(cluster=cluster, revision__isnull=False).select_related("revision")


def pauses_of(cluster: Cluster) -> dict[str, Pause]:
    """The pauses that hold now, by partition; the whole cluster's under an empty name."""
    return {pause.partition: pause for pause in kept_queries.rows(_pauses, cluster.pk)}


def _pauses(cluster: int) -> QuerySet[Pause]:
    return Pause.objects.filter(cluster=cluster)


def why_paused(partition: str, pauses: Mapping[str, Pause]) -> str:
    """Why nobody may be stopped in a partition, in words; empty when somebody may."""
    pause = pauses.get("") or pauses.get(partition)
    if pause is None:
        return ""
    code = "paused.here" if pause.partition else "paused.everywhere"
    facts = {"who": pause.by_whom} | ({"partition": partition} if pause.partition else {})
    return say(f"{code}.because", **facts, said=pause.reason) if pause.reason else say(code, **facts)


def gather(
    cluster: Cluster,
    plans: Sequence[Plan],
    partitions: Mapping[str, PartitionFacts],
    ways: frozenset[Resizing] | None = None,
) -> Facts:
    """Read the facts; a fixed number of queries whatever the number of jobs. `ways`: in which the cluster makes jobs
    smaller, where it was asked."""
    return Facts(
        partitions=partitions,
        projects=core_projects(cluster),
        stops=recent_stops(cluster),
        plans=plans,
        outstanding=_outstanding(plans),
        quota_held=_quota_held(plans),
        refused=_refused(cluster),
        backed_off=backed_off(cluster),
        put_off=putting_off(cluster),
        rejections=recent_rejections(cluster),
        past=past_of(cluster),
        held_together=held_together(plans),
        resizable=resizable(cluster, ways),
        regrowing=regrowing(cluster, ways),
        foresight=foresee(cluster, [partition.policy for partition in partitions.values()]),
    )


def _refused(cluster: Cluster) -> frozenset[RunKey]:
    """Runs that are not to be asked for again: a run is stopped once, or not at all.

    One whose stop was seen to work is over. If it runs all the same, an answer of Slurm was misread then.
    """
    now = clock.now()
    asked = kept_queries.rows(_stops_asked, cluster.pk, failed=now - REMEMBER, verified=now - MISREAD)
    return frozenset(run_of(action) for action in asked)


def _stops_asked(cluster: int, failed: AskedMoment, verified: AskedMoment) -> QuerySet[PlannedAction]:
    return PlannedAction.objects.filter(
        Q(state=ActionState.FAILED, issued_at__gte=failed)
        | Q(state=ActionState.VERIFIED, verified_at__gte=verified),
        cluster=cluster,
        kind__in=STOP_KINDS,
    ).only("job_id", "run_start", "run_restarts")


def backed_off(cluster: Cluster) -> dict[str, str]:
    """Jobs whose last plan was undone a moment ago, but for those that `putting_off` looks after.

    A plan that was taken back before it came to a signal or a stop, because the facts had changed, has disturbed
    nobody and failed in nothing: its job need not wait."""
    return {
        job_id: say("put_off.undone", plan=plan.pk)
        for plan in kept_queries.rows(_plans_undone, cluster.pk, since=clock.now() - BACK_OFF)
        for job_id in jobs_served(plan)
    }


def _plans_undone(cluster: int, since: AskedMoment) -> QuerySet[Plan]:
    tried = PlannedAction.objects.filter(plan=OuterRef("pk")).filter(
        Q(kind__in=(ActionKind.SIGNAL, *STOP_KINDS), issued_at__isnull=False) | Q(state=ActionState.FAILED)
    )
    undone = Plan.objects.filter(
        Exists(tried),
        cluster=cluster,
        state=PlanState.UNDONE,
        kind=PlanKind.PREEMPT,
        not_started=False,
        ended_at__gte=since,
    )
    return undone.only("id", "job_id", "job_restarts", "tasks")


def _outstanding(plans: Sequence[Plan]) -> Outstanding:
    going = [plan for plan in plans if plan.state != PlanState.PROPOSED and is_exchange(plan)]
    exchanges = {plan.pk: plan for plan in going if not plan.undo_reason}
    found = _without_exchanges([plan for plan in plans if plan.pk not in exchanges])
    for plan in exchanges.values():
        theirs = rooms_left(plan) if plan.started_at is None else {}
        found = replace(
            found,
            beneficiaries={**found.beneficiaries, **theirs, **comes_back(plan)},
            shrinking={**found.shrinking, **gives_up(plan)},
            set_aside={**found.set_aside, **gets(plan)},
        )
    return found


def _without_exchanges(plans: Sequence[Plan]) -> Outstanding:
    beneficiaries: dict[str, Mapping[str, Mapping[str, int]]] = {}
    victims: set[RunKey] = set()
    shrinking: dict[RunKey, frozenset[str]] = {}
    yielded: dict[str, str] = {}
    growing = [plan for plan in plans if plan.kind == PlanKind.GROW and plan.state != PlanState.PROPOSED]
    shrinking |= {_run_that_grows(plan): frozenset[str]() for plan in growing}
    beneficiaries |= {plan.job_id: room for plan in growing if (room := _room_that_grows(plan))}
    for plan in plans:
        if plan.kind != PlanKind.PREEMPT or plan.state == PlanState.PROPOSED:
            continue
        if plan.started_at is None and not plan.undo_reason:
            beneficiaries.update(rooms_left(plan))
        by_job = {victim["job"]: victim for victim in plan.victims if victim.get("keeps")}
        stopping = {a.job_id for a in plan.actions.all() if a.kind in STOP_KINDS and a.state in UNDER_WAY}
        for action in plan.actions.all():
            smaller = by_job.get(action.job_id)
            if action.kind in STOP_KINDS and action.state in UNDER_WAY and not smaller:
                victims.add(run_of(action))
            elif action.kind in SHRINKING and action.state in UNDER_WAY and smaller:
                shrinking[run_of(action)] = frozenset(smaller["nodes"])
            if action.kind != ActionKind.RELEASE or action.state not in UNDER_WAY:
                continue
            if smaller and not plan.undo_reason and action.job_id not in stopping:
                beneficiaries[action.job_id] = smaller["each"]
            elif not smaller or plan.undo_reason:
                yielded[action.job_id] = plan.job_id
    return Outstanding(
        beneficiaries=beneficiaries,
        victims=frozenset(victims),
        yielded=yielded,
        shrinking=shrinking,
        starts=frozenset(job for plan in plans if _only_starts(plan) for job in rooms_left(plan)),
    )


def _only_starts(plan: Plan) -> bool:
    """Whether all that a plan does that is being carried out is to put its job first in line."""
    if plan.kind != PlanKind.PREEMPT or plan.state == PlanState.PROPOSED or plan.victims:
        return False
    if plan.started_at or plan.undo_reason:
        return False
    kinds = {action.kind for action in plan.actions.all()}
    return kinds == {ActionKind.PRIORITISE}


def _run_that_grows(plan: Plan) -> RunKey:
    (itself,) = plan.victims
    return RunKey(plan.job_id, itself["start"], itself["restarts"])


def _room_that_grows(plan: Plan) -> Mapping[str, Mapping[str, int]]:
    """What is kept for a job that starts again on more nodes: the new ones, and all of them when it has let go of its
    own."""
    if plan.undo_reason or plan.started_at:
        return {}
    (itself,) = plan.victims
    gone = any(a.kind in STOP_KINDS and a.state == ActionState.VERIFIED for a in plan.actions.all())
    room: Mapping[str, Mapping[str, int]] = itself["each"] if gone else plan.placement
    return room


def _quota_held(plans: Sequence[Plan]) -> frozenset[str]:
    """Jobs under a hold of ours that is not being taken back already."""
    return frozenset(
        plan.job_id
        for plan in plans
        if plan.kind == PlanKind.QUOTA and plan.state == PlanState.EXECUTING and not plan.undo_reason
    )

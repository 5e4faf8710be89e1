"""Whether a request can be approved now, and if not, why: its plans against the mirror, the policy and the switch."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from console.cluster.models import Cluster, Job, JobPhase
from console.core import clock
from console.core.l10n_format import duration
from console.core.translate import resay
from console.partitions.models import Partition
from console.steering.decisions.facts import why_paused
from console.steering.decisions.held_together import HELD_BY_USER, held_together
from console.steering.models import (
    OPEN_STATES,
    STOP_KINDS,
    ActionState,
    Plan,
    PlanKind,
    PlannedAction,
    PlanState,
)
from console.steering.operations.requests import ApprovalRequest, asked_with, request_of, run_in
from console.steering.operations.standing import standing
from console.steering.served import runs_served

FEW_CYCLES = 5
LEAST_FRESH_S = 10.0
"""How old the last look at the cluster may be: a few cycles, but not less than this."""


def what_changed(plan: Plan) -> list[str]:
    """Why the request that a plan belongs to cannot be approved now, in sentences; empty when it can."""
    return why_not_now(request_of(plan))


def why_not_now(request: ApprovalRequest) -> list[str]:
    """The same of a request."""
    lead = request.lead
    if not lead.awaits_decision:
        return list(why_decided(lead))
    changes = [*_not_seen_lately(lead.cluster), *_rules_changed(request)]
    if not request.possible:
        # A pause is said once: the plan's own words have it, too.
        return changes or [resay(lead.not_now)]
    return [*changes, *_victims_changed(request.possible), *_beneficiaries_changed(request.possible)]


def why_decided(plan: Plan) -> Iterator[str]:
    """Why nobody is asked about a plan, or not any more."""
    if plan.state in (PlanState.SUPERSEDED, PlanState.EXPIRED) and not plan.decided_by:
        yield resay(plan.outcome) or _("It is no longer needed.")
        other = asked_with(plan).first()
        if other is not None:
            yield _("Plan %(id)d asks for the same job, or for others of its array.") % {"id": other.pk}
    elif plan.decided_by:
        text = _("%(who)s rejected it.") if plan.state == PlanState.REJECTED else _("%(who)s approved it.")
        yield text % {"who": plan.decided_by}
        if plan.outcome and plan.state != PlanState.REJECTED:
            yield resay(plan.outcome)
    elif plan.state == PlanState.PROPOSED:
        yield _("It was made in %(mode)s: nobody is asked about it.") % {"mode": plan.enforcement}
    else:
        yield _("It is carried out without being asked for, as the policy said when it was made.")


def partition_of(plan: Plan) -> Partition:
    """The partition that a plan was made in."""
    return Partition.objects.select_related("cluster", "revision").get(
        cluster=plan.cluster_id, name=plan.partition
    )


def _not_seen_lately(cluster: Cluster) -> Iterator[str]:
    if cluster.fault:
        yield _("The cluster cannot be read in full: %(fault)s") % {"fault": cluster.fault}
    elif cluster.observed_at is None:
        yield _("The cluster has not been seen yet.")
    else:
        age = clock.now() - cluster.observed_at
        if age > timedelta(seconds=max(LEAST_FRESH_S, FEW_CYCLES * settings.GIVEWAY_CYCLE_S)):
            yield _("The cluster was last seen %(time)s ago.") % {"time": duration(age.total_seconds())}


def _rules_changed(request: ApprovalRequest) -> Iterator[str]:
    plan = request.lead
    stands = standing(plan.cluster.name)
    if any(each.partition in ("", plan.partition) for each in stands.streaks):
        yield _("The last cycle failed: nobody is stopped until one has ended well.")
    paused = why_paused(plan.partition, {pause.partition: pause for pause in stands.pauses})
    if paused:
        yield _("Nobody may be stopped now: %(why)s.") % {"why": paused.rstrip(".")}
    revision = partition_of(plan).revision
    others = {each.policy_revision for each in request.possible}
    if revision is not None and others - {revision.number}:
        yield _("It was made by policy revision %(old)s; revision %(new)s is in force.") % {
            "old": next(iter(others - {revision.number})),
            "new": revision.number,
        }


def _victims_changed(plans: Sequence[Plan]) -> Iterator[str]:
    victims = [victim for plan in plans for victim in plan.victims]
    ids = [victim["job"] for victim in victims]
    rows = {row.job_id: row for row in _jobs(plans).filter(job_id__in=ids)}
    stopping = _being_stopped(plans, ids)
    for victim in victims:
        row, who = rows.get(victim["job"]), {"job": victim["job"], "user": victim.get("user", "")}
        run = run_in(victim)
        if row is None or row.phase != JobPhase.RUNNING:
            yield _("%(job)s (%(user)s) no longer runs.") % who
        elif (row.start, row.restarts) != run[1:]:
            yield _("%(job)s (%(user)s) was started again meanwhile: that is another run.") % who
        elif run in stopping:
            yield _("%(job)s (%(user)s) is being stopped by plan %(plan)d.") % {**who, "plan": stopping[run]}


def _being_stopped(plans: Sequence[Plan], ids: Sequence[str]) -> dict[tuple[str, int, int], int]:
    """The runs that other plans stop, with the plan."""
    rows = PlannedAction.objects.filter(
        cluster=plans[0].cluster_id, job_id__in=ids, kind__in=STOP_KINDS
    ).exclude(state=ActionState.EXPIRED)
    runs = rows.values_list("job_id", "run_start", "run_restarts", "plan_id")
    own = {plan.pk for plan in plans}
    return {(job, start, restarts): other for job, start, restarts, other in runs if other not in own}


def _beneficiaries_changed(plans: Sequence[Plan]) -> Iterator[str]:
    served = [(plan, job_id, restarts) for plan in plans for job_id, restarts in runs_served(plan)]
    ids = [job_id for _plan, job_id, _restarts in served]
    waiting = _jobs(plans).filter(job_id__in=ids, partition=plans[0].partition)
    rows = {row.job_id: row for row in waiting}
    ours = _held_by_us(plans[0]) if any(plan.whole for plan in plans) else frozenset()
    for plan, job_id, restarts in served:
        row, who = rows.get(job_id), {"job": job_id, "user": plan.user}
        if row is None or row.phase == JobPhase.ENDED:
            yield _("%(job)s (%(user)s) is no longer in the queue.") % who
        elif row.phase != JobPhase.PENDING:
            yield _("%(job)s (%(user)s) runs already.") % who
        elif row.held and (job_id not in ours or row.slurm_reason.lower() == HELD_BY_USER):
            yield _("%(job)s (%(user)s) is held.") % who
        elif row.restarts != restarts:
            yield _("%(job)s (%(user)s) ran meanwhile and was put back into the queue.") % who


def _held_by_us(plan: Plan) -> frozenset[str]:
    """The jobs of its partition that are held until all of their group fit."""
    open_holds = Plan.objects.filter(kind=PlanKind.WHOLE, state__in=OPEN_STATES)
    return held_together(open_holds.filter(cluster=plan.cluster_id, partition=plan.partition))


def _jobs(plans: Sequence[Plan]) -> QuerySet[Job]:
    return Job.objects.filter(cluster=plans[0].cluster_id)

"""A person's yes or no to a request, in partitions that ask for it.

1. Yes carries out what is true now, if it costs no more than what the person has read: not more jobs, none of a higher
   level, no more work. Else it is refused with the difference; whoever has read that may say yes to it.
2. It is also refused when it cannot be done now (`up_to_date`), with the reason, and the request goes on standing.
3. Yes: compare-and-set proposed → approved, and each plan gets its actions; the next cycle carries it out as one of a
   partition that enforces. No: proposed → rejected, which `rejections` heeds for a while.
4. An alternative that is approved instead becomes the plan's last version.
5. The same click twice counts once. Tasks of an array that are asked about together are decided in one transaction.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.accounts.permissions import Permission
from console.accounts.rules import reads_everything
from console.audit.services import reason_of
from console.cluster.models import Cluster, Job, JobPhase
from console.cluster.services import show_change
from console.core import clock
from console.core.failpoints import failpoint
from console.core.l10n_format import duration, names
from console.core.translate import resay
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.steering.facts import HELD_BY_USER, held_together, why_paused
from console.steering.journal import tell_plan
from console.steering.lifecycle import move_plan
from console.steering.models import (
    OPEN_STATES,
    STOP_KINDS,
    ActionState,
    CycleLease,
    Plan,
    PlanKind,
    PlannedAction,
    PlanState,
    PlanVersion,
)
from console.steering.new_plans import actions_for, deadline_for
from console.steering.requests import (
    ApprovalRequest,
    asked_with,
    choosing,
    request_of,
    run_in,
    standing,
    standing_on,
)
from console.steering.selectors import Work, add_work, work_of, work_short
from console.steering.sentences import only_stops
from console.steering.served import keep_version, runs_served
from scheduler.model.plan import How
from scheduler.model.policy import Mode, PartitionPolicy
from scheduler.model.resource_kinds import COUNTED
from scheduler.model.sentence import say

CARRIED_OUT = (PlanState.APPROVED, PlanState.EXECUTING, PlanState.VERIFIED)


class OutOfDateError(Exception):
    """The request is not what the person decided on, or cannot be carried out: nothing was done.

    `changes`: why, in sentences. `not_now`: it stands, and can be approved later. `costs_more`: it can be approved by
    whoever reads what it is now.
    """

    def __init__(
        self, plan: Plan, changes: Sequence[str], *, not_now: bool = False, costs_more: bool = False
    ) -> None:
        self.plan = plan
        self.changes = list(changes)
        self.costs_more = costs_more
        head = _("Plan %(id)d is out of date.")
        if costs_more:
            head = _("Plan %(id)d costs more now than what you have read.")
        elif not_now:
            head = _("Plan %(id)d cannot be approved now.")
        super().__init__(" ".join([head % {"id": plan.pk}, *self.changes]))


def approve(
    *, actor: str, plan: Plan, reason: str, seen: str, instead: str = "", request_id: str = ""
) -> Plan:
    """Have the request that a plan belongs to carried out; returns its lead. `instead`: the mark of an alternative.

    Raises `OutOfDateError`, or `ValidationError` without a reason.
    """
    reason = reason_of(actor, reason)
    with transaction.atomic():
        request = _locked(plan)
        if request.lead.decided_by == actor and request.lead.state in CARRIED_OUT:
            return request.lead
        plans = _allowed(request, seen, instead)
        policy = policy_of(partition_of(request.lead))
        read = request.read(seen) or {}
        for each in plans:
            decided = {"decided_version": _number_of(read.get(each.pk)), "deadline": deadline_for(policy)}
            _decide(each, PlanState.APPROVED, actor, reason, **decided, **_chosen(each))
            PlannedAction.objects.bulk_create(actions_for(each, policy))
            _tell(each, actor, reason, request_id)
        failpoint("web.approving")
    failpoint("web.approved")
    return plans[0]


def reject(*, actor: str, plan: Plan, reason: str, seen: str, request_id: str = "") -> Plan:
    """Turn a request down. Facts that have changed do not matter then. Returns and raises as `approve` does."""
    reason = reason_of(actor, reason)
    with transaction.atomic():
        request = _locked(plan)
        lead = request.lead
        if lead.decided_by == actor and lead.state == PlanState.REJECTED:
            return lead
        if not lead.awaits_decision:
            raise OutOfDateError(lead, list(why_decided(lead)))
        read = request.read(seen)
        if read is None:
            raise OutOfDateError(lead, [_("It is not the plan that you looked at.")])
        outcome = say("plan.rejected", who=actor, why=reason)
        for each in request.plans:
            over = {"ended_at": clock.now(), "outcome": outcome}
            decided = {"decided_version": _number_of(read.get(each.pk))}
            _decide(each, PlanState.REJECTED, actor, reason, **over, **decided)
            _tell(each, actor, reason, request_id)
        failpoint("web.rejecting")
    failpoint("web.rejected")
    return lead


def _allowed(request: ApprovalRequest, seen: str, instead: str) -> Sequence[Plan]:
    """The plans to be carried out. Raises `OutOfDateError`."""
    lead = request.lead
    if lead.awaits_decision and request.read(seen) is None:
        raise OutOfDateError(lead, [_("It is not the plan that you looked at.")])
    if instead:
        chosen = choosing(request, instead)
        if chosen is None:
            gone = [_("There is no such alternative any more.")]
            raise OutOfDateError(lead, why_not_now(request) or gone, not_now=lead.awaits_decision)
        request = ApprovalRequest((chosen,))
    changes = why_not_now(request)
    if changes:
        raise OutOfDateError(lead, changes, not_now=lead.awaits_decision)
    difference = None if instead else since_read(request, seen)
    if difference is not None and difference.costs_more(policy_of(partition_of(lead))):
        raise OutOfDateError(lead, difference.sentences, costs_more=True)
    return request.possible


def _locked(plan: Plan) -> ApprovalRequest:
    """The request as it is, with its plans locked.

    The lease's row comes first, as in a cycle: that renews requests and writes to the audit log in another order.
    """
    list(CycleLease.objects.select_for_update().filter(cluster=plan.cluster_id))
    pks = [each.pk for each in request_of(standing_on(plan)).plans]
    list(
        Plan.objects.select_for_update().filter(pk__in=[*pks, plan.pk])
    )  # no join: PostgreSQL would lock that, too
    return request_of(standing_on(Plan.objects.select_related("cluster", "cycle").get(pk=plan.pk)))


def _number_of(version: Any) -> int | None:
    return getattr(version, "number", None) or getattr(version, "version", None)


def _chosen(plan: Plan) -> dict[str, Any]:
    """What an alternative puts in the place of the plan's own; kept as a version of it."""
    if not plan.chosen:
        return {}
    keep_version(plan)
    names = ("victims", "placement", "tasks", "explain", "chosen", "version", "renewed_at")
    return {name: getattr(plan, name) for name in names}


def _decide(plan: Plan, state: PlanState, actor: str, reason: str, **changes: Any) -> None:
    decision = {"decided_by": actor, "decided_at": clock.now(), "decision_reason": reason}
    if not move_plan(plan, state, **decision, **changes):
        raise OutOfDateError(plan, [_("Something else was decided about it at the same moment.")])


def _tell(plan: Plan, actor: str, reason: str, request_id: str) -> None:
    before, after = {"state": PlanState.PROPOSED.value}, {"state": str(plan.state)}
    if plan.chosen:
        after |= {"instead": plan.chosen, "victims": plan.victims}
    tell_plan(
        plan,
        f"plan.{plan.state}",
        before=before,
        after=after,
        reason=reason,
        actor=actor,
        request_id=request_id,
    )
    show_change(plan.cluster)


# What is different between two versions of a request, from their victims, nodes and policy: for people, and to compare
# what they cost.
#
# Work is counted as if both were carried out now. A victim of both costs the same in both.

Run = tuple[str, int, int]


@dataclass
class AskedFor:
    """Whom a version stops, each with what that destroys if it is done now; where the jobs start, by which rules."""

    victims: dict[Run, dict[str, Any]] = field(default_factory=dict)
    losses: dict[Run, Work] = field(default_factory=dict)
    nodes: set[str] = field(default_factory=set)
    revisions: set[int] = field(default_factory=set)

    def add(self, version: Plan | PlanVersion, now: datetime) -> None:
        """What one plan asks for."""
        at = version.worked_out_at if isinstance(version, Plan) else version.at
        for victim in version.victims:
            run = run_in(victim)
            self.victims[run] = victim
            self.losses[run] = work_of(victim, (now - at).total_seconds())
        self.nodes |= version.placement.keys()
        if version.policy_revision is not None:
            self.revisions.add(version.policy_revision)

    def lost(self, runs: Iterable[Run]) -> Work:
        """What stopping these destroys."""
        total: Work = {}
        for run in runs:
            add_work(total, self.losses[run])
        return total


def asked_for(versions: Iterable[Plan | PlanVersion]) -> AskedFor:
    """What these ask for together."""
    found, now = AskedFor(), clock.now()
    for version in versions:
        found.add(version, now)
    return found


@dataclass(frozen=True, slots=True)
class RequestDifference:
    """From one version to another. `ended`: jobs whose runs were over before they could be stopped."""

    before: AskedFor
    after: AskedFor
    ended: frozenset[str]

    @property
    def more(self) -> list[Run]:
        """Who is stopped in addition, or instead."""
        return [run for run in self.after.victims if run not in self.before.victims]

    @property
    def fewer(self) -> list[Run]:
        """Who is no longer stopped."""
        return [run for run in self.before.victims if run not in self.after.victims]

    @property
    def sentences(self) -> list[str]:
        """In words; empty when nothing of it has changed."""
        return [*self._of_victims(), *self._of_work(), *self._of_room()]

    def costs_more(self, policy: PartitionPolicy) -> bool:
        """Whether the later version stops more jobs, or any of a higher level, or destroys more work of any kind."""
        before, after = self.before.victims, self.after.victims
        if len(after) > len(before) or _cancelled(after.values()) > _cancelled(before.values()):
            return True
        if any(
            now < then for now, then in zip(_highest(after, policy), _highest(before, policy), strict=True)
        ):
            return True
        # Who is in both costs the same; only the others are compared, to the second.
        now, then = self.after.lost(self.more), self.before.lost(self.fewer)
        return any(now.get(name, 0.0) > then.get(name, 0.0) for name in COUNTED)

    def _of_victims(self) -> Iterator[str]:
        over = [run for run in self.fewer if run[0] in self.ended]
        spared = [run for run in self.fewer if run[0] not in self.ended]
        if over:
            text = ngettext("%(jobs)s has ended.", "%(jobs)s have ended.", len(over))
            yield text % {"jobs": _who(over, self.before)}
        more, gone = _who(self.more, self.after), _who(spared, self.before)
        changed = [self.after.victims[run] for run in self.more]
        changed += [self.before.victims[run] for run in spared]
        said = _stopped if only_stops(changed) else _making_room
        if self.more or spared:
            text = said(len(self.more), len(spared), instead=bool(over))
            yield text % {"more": more, "fewer": gone}

    def _of_work(self) -> Iterator[str]:
        if not self.more and not self.fewer:
            return
        before, after = (work_short(each.lost(each.victims)) for each in (self.before, self.after))
        if before != after:
            yield _("Work lost: %(before)s → %(after)s.") % {"before": before, "after": after}

    def _of_room(self) -> Iterator[str]:
        before, after = self.before, self.after
        if before.nodes != after.nodes and before.nodes and after.nodes:
            facts = {"nodes": names(sorted(after.nodes)), "others": names(sorted(before.nodes))}
            yield _("The room is made on %(nodes)s instead of %(others)s.") % facts
        if before.revisions != after.revisions and after.revisions:
            yield _("Policy revision %(new)s is in force.") % {"new": max(after.revisions)}


def since_opened(request: ApprovalRequest) -> RequestDifference | None:
    """What has changed since the request was opened; None when it was never renewed."""
    if all(plan.version == 1 for plan in request.possible):
        return None
    return _difference(request, {pk: rows[0] for pk, rows in request.versions.items() if rows})


def since_read(request: ApprovalRequest, mark: str) -> RequestDifference | None:
    """What has changed since a person looked; None when nothing has, or the mark is of another request."""
    read = request.read(mark)
    if read is None or all(
        plan.pk in read and _number(read[plan.pk]) == plan.version for plan in request.possible
    ):
        return None
    return _difference(request, read)


def _difference(request: ApprovalRequest, before: Mapping[int, Plan | PlanVersion]) -> RequestDifference:
    ended = {
        job
        for pk, version in before.items()
        for row in request.versions[pk]
        if row.number > _number(version)
        for job in row.ended
    }
    return RequestDifference(asked_for(before.values()), asked_for(request.possible), frozenset(ended))


def _stopped(more: int, fewer: int, *, instead: bool) -> str:
    """So many jobs are stopped in addition, so many no longer; `instead`: of some that have ended."""
    if more and fewer:
        return ngettext(
            "%(more)s is stopped instead of %(fewer)s.", "%(more)s are stopped instead of %(fewer)s.", more
        )
    if fewer:
        return ngettext("%(fewer)s is no longer stopped.", "%(fewer)s are no longer stopped.", fewer)
    if instead:
        return ngettext("%(more)s is stopped instead.", "%(more)s are stopped instead.", more)
    return ngettext("%(more)s is stopped as well.", "%(more)s are stopped as well.", more)


def _making_room(more: int, fewer: int, *, instead: bool) -> str:
    """The same where some of them only give something up, and go on."""
    if more and fewer:
        return ngettext(
            "%(more)s makes room instead of %(fewer)s.", "%(more)s make room instead of %(fewer)s.", more
        )
    if fewer:
        return ngettext("%(fewer)s no longer makes room.", "%(fewer)s no longer make room.", fewer)
    if instead:
        return ngettext("%(more)s makes room instead.", "%(more)s make room instead.", more)
    return ngettext("%(more)s makes room as well.", "%(more)s make room as well.", more)


def _number(version: Plan | PlanVersion) -> int:
    return version.version if isinstance(version, Plan) else version.number


def _cancelled(victims: Iterable[dict[str, Any]]) -> int:
    return sum(victim["how"] == How.CANCEL for victim in victims)


def _highest(victims: dict[Run, dict[str, Any]], policy: PartitionPolicy) -> list[int]:
    """The highest level among them on each axis that the mode looks at; what has no level comes last."""
    ranks = {level.name: rank for rank, level in enumerate(policy.levels)}
    axes = {Mode.USER: ["user_level"], Mode.TASK: ["task_level"]}.get(
        policy.mode, ["user_level", "task_level"]
    )
    return [
        min((ranks.get(victim.get(axis, ""), len(ranks)) for victim in victims.values()), default=len(ranks))
        for axis in axes
    ]


def _who(runs: Sequence[Run], version: AskedFor) -> str:
    return names(
        _("%(job)s (%(user)s)") % {"job": run[0], "user": version.victims[run].get("user", "")}
        for run in runs
    )


# Whether a request can be approved now, and if not, why: its plans against the mirror, the policy and the switch.

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


# A plan's stored input as far as somebody may see it: the policy's values are for whom the policy's page is for.

OPEN = ("name", "mode", "level_names")
"""What of the partition's rules stands on every plan's page."""
HIDDEN = "hidden"
"""The key that names what was left out. The planner refuses an input that has it: it would decide otherwise."""


def shown_input(user: Any, plan: Plan) -> dict[str, Any]:
    """The document to show; the plan must have kept one."""
    document = plan.snapshot
    if _sees_policy(user, plan):
        return document
    rules: dict[str, Any] = document["partition"]
    hidden = sorted(f"partition.{key}" for key in rules if key not in OPEN)
    return {
        **document,
        "partition": {key: value for key, value in rules.items() if key in OPEN},
        **({HIDDEN: hidden} if hidden else {}),
    }


def _sees_policy(user: Any, plan: Plan) -> bool:
    partition = Partition.objects.filter(cluster=plan.cluster_id, name=plan.partition).first()
    if partition is None:
        return bool(reads_everything(user))
    return bool(user.has_perm(Permission.POLICY_VIEW, partition))

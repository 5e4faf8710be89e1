"""What the pages and the API show of a plan: whom it is for, what it costs, who was passed over, what else there is."""

import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.db.models import CharField, QuerySet, Value
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.accounts.permissions import Permission
from console.accounts.rules import is_administrator
from console.cluster.models import Job
from console.core import clock, l10n_format
from console.core.l10n_format import amounts, in_a_row, names
from console.partitions.models import Partition
from console.partitions.selectors import administered_partitions
from console.projects.models import ProjectProposal, RequestState, UrgencyRequest
from console.steering.models import Fate, Plan, Victim
from console.steering.requests import GROUP, ApprovalRequest, asked_plans, can_be_chosen, mark_of_alternative
from console.steering.sentences import ways_of
from scheduler.model.reasons import SENTENCES
from scheduler.model.resource_kinds import COUNTED, LABELS
from scheduler.priority.groups import group_name

# Work that a stop destroys: what the victims held, times how long they had run.

SECONDS_PER_HOUR = 3600

Work = dict[str, float]
"""Seconds of work by resource: `{"gpu": 5040.0, "cpu": 20160.0}`."""


def ran_s(victim: Mapping[str, Any], later_s: float = 0) -> int:
    """How long a plan's victim had run, so many seconds after the plan was made."""
    return int(int(victim.get("ran_s") or 0) + max(0.0, later_s))


def work_of(victim: Mapping[str, Any], later_s: float = 0) -> Work:
    """The work of one victim that would be lost if it had saved nothing."""
    held, seconds = victim.get("amounts") or {}, ran_s(victim, later_s)
    amounts = {name: _amount(held, name) for name in COUNTED}
    return {name: float(amount * seconds) for name, amount in amounts.items() if amount}


def work_lost(victims: Iterable[Mapping[str, Any]], later_s: float = 0) -> Work:
    """The work of all victims together."""
    total: Work = {}
    for victim in victims:
        add_work(total, work_of(victim, later_s))
    return total


def add_work(into: Work, more: Mapping[str, float]) -> None:
    """Add some work to a sum."""
    for name, seconds in more.items():
        into[name] = into.get(name, 0.0) + seconds


def hours(work: Mapping[str, float], name: str) -> float:
    """The work in hours of one resource."""
    return round(work.get(name, 0.0) / SECONDS_PER_HOUR, 4)


def work_words(work: Mapping[str, float]) -> str:
    """`1.4 GPU-hours and 5.6 CPU-hours`; `12 CPU-minutes`; `no work`."""
    parts = [_one(LABELS[name], work[name]) for name in COUNTED if work.get(name)]
    if not parts:
        return _("no work")
    if len(parts) == 1:
        return parts[0]
    return l10n_format.names(parts)


def work_short(work: Mapping[str, float]) -> str:
    """The same for a table's cell: `1.4 GPU-h · 5.6 CPU-h`, `12 CPU-min`; a dash for none."""
    parts = []
    for name in COUNTED:
        if work.get(name):
            hours_of = work[name] / SECONDS_PER_HOUR
            if hours_of < 1:
                facts = {"n": max(1, round(hours_of * 60)), "what": LABELS[name]}
                parts.append(_("%(n)s %(what)s-min") % facts)
            else:
                parts.append(_("%(n)s %(what)s-h") % {"n": _number(hours_of), "what": LABELS[name]})
    return " · ".join(parts) or "–"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _one(label: str, seconds: float) -> str:
    if seconds < SECONDS_PER_HOUR:
        minutes = max(1, round(seconds / 60))
        form = _("%(n)s %(what)s-minute") if minutes == 1 else _("%(n)s %(what)s-minutes")
        return form % {"n": minutes, "what": label}
    number = _number(seconds / SECONDS_PER_HOUR)
    form = _("%(n)s %(what)s-hour") if number == "1" else _("%(n)s %(what)s-hours")
    return form % {"n": number, "what": label}


def _amount(held: Mapping[str, int], name: str) -> int:
    """A plain amount; where only types are known, these together."""
    if name in held:
        return held[name]
    return sum(amount for kind, amount in held.items() if kind.partition(":")[0] == name)


@dataclass(frozen=True, slots=True)
class Loss:
    """One victim with how long it has run and what stopping it destroys, for a table's cell."""

    victim: dict[str, Any]
    ran_s: int
    words: str
    fate: Victim | None = None
    """What became of it, once it was sent a signal or a stop."""

    @property
    def spared(self) -> bool:
        """Whether it was not stopped after all."""
        return self.fate is not None and self.fate.fate == Fate.SPARED


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that could be done instead. `kind` as in `alternatives`; `losses` of whom it stops."""

    kind: str
    possible: bool
    losses: list[Loss]
    words: str
    nodes: str
    explain: str
    same: bool = False
    """Whether it stops exactly whom the plan stops."""
    mark: str = ""
    """What it is approved by instead of the plan's own; empty when it cannot be."""
    starts_at: int | None = None


@dataclass(frozen=True, slots=True)
class Passed:
    """The jobs that were left alone for one reason."""

    reason: str
    sentence: str
    jobs: list[str]


def waited_s(plan: Plan) -> float:
    """How much longer a proposal's victims have run since they were worked out. 0 once it is decided."""
    return (clock.now() - plan.worked_out_at).total_seconds() if plan.awaits_decision else 0.0


def lost_by(*plans: Plan) -> Work:
    """What carrying the plans out destroys, as things are now."""
    total: Work = {}
    for plan in plans:
        add_work(total, work_lost(plan.victims, waited_s(plan)))
    return total


def lost_of(losses: Iterable[Loss]) -> Work:
    """What stopping them destroys or has destroyed; of those who were not stopped after all, nothing."""
    total: Work = {}
    for loss in losses:
        if not loss.spared:
            add_work(total, work_of({**loss.victim, "ran_s": loss.ran_s}))
    return total


def losses_of(request: ApprovalRequest) -> list[Loss]:
    """Everybody whom a request, or a plan that is not asked about any more, stops."""
    return [
        loss
        for plan in request.shown
        for loss in losses(plan.victims, waited_s(plan), () if plan.awaits_decision else plan.fates.all())
    ]


def losses(victims: Iterable[dict[str, Any]], later_s: float, fates: Iterable[Victim] = ()) -> list[Loss]:
    """Each victim with what stopping it destroys, and what became of it as far as `fates` tell."""
    known = {(row.job_id, row.run_start, row.run_restarts): row for row in fates}
    return [
        Loss(
            victim,
            ran_s(victim, later_s),
            work_short(work_of(victim, later_s)),
            known.get((victim["job"], victim.get("start", 0), victim.get("restarts", 0))),
        )
        for victim in victims
    ]


def consequence(request: ApprovalRequest) -> str:
    """What carrying it out does, in one sentence."""
    plan, victims = request.shown[0], request.victims
    if not victims:
        text = _("Puts %(job)s (%(user)s) first in line; nobody is stopped.")
        return text % {"job": request.group or plan.job_id, "user": plan.user}
    job, tasks = plan.job_id, request.tasks
    if tasks > 1:
        job = _("%(n)d tasks of %(array)s") % {"n": tasks, "array": request.group}
    nodes = names(sorted({node for each in request.shown for node in each.placement}))
    facts = {"work": work_words(lost_by(*request.shown)), "job": job, "user": plan.user, "nodes": nodes}
    text = _("%(what)s, loses %(work)s and starts %(job)s (%(user)s) on %(nodes)s.")
    what = in_a_row(way.whose for way in ways_of(victims))
    return text % {**facts, "what": what[:1].upper() + what[1:]}


def tasks_left(request: ApprovalRequest) -> str:
    """That some tasks of an array go on waiting, when others can be decided on; else empty."""
    left = len(request.plans) - len(request.possible)
    if not left or not request.possible:
        return ""
    text = ngettext(
        "For %(n)d more of its tasks nobody can be stopped now; it goes on standing.",
        "For %(n)d more of its tasks nobody can be stopped now; they go on standing.",
        left,
    )
    return text % {"n": left}


def options(plan: Plan, beneficiary: Job | None) -> list[Option]:
    """The alternatives, as the cycle has worked them out; Slurm's expectation as it is now, if it is known."""
    own = {victim["job"] for victim in plan.victims}
    found = [_option(each, own, waited_s(plan), beneficiary) for each in plan.alternatives]
    return [
        replace(option, mark=mark_of_alternative(each)) if can_be_chosen(each, plan) else option
        for option, each in zip(found, plan.alternatives, strict=True)
    ]


def _option(each: dict[str, Any], own: set[str], later_s: float, beneficiary: Job | None) -> Option:
    found = losses(each["victims"], later_s)
    starts_at = each.get("starts_at")
    if beneficiary is not None and "starts_at" in each:
        starts_at = beneficiary.estimated_start
    return Option(
        kind=each["kind"],
        possible=each["possible"],
        losses=found,
        words=work_short(work_lost(each["victims"], later_s)),
        nodes=names(each["nodes"]) if each["nodes"] else "",
        explain=each["explain"],
        same=bool(found) and {victim["job"] for victim in each["victims"]} == own,
        starts_at=starts_at,
    )


def passed_over(plan: Plan) -> list[Passed]:
    """The running jobs that were looked at and left alone, by reason, the most frequent first."""
    known = {reason.value: _(sentence) for reason, sentence in SENTENCES.items()}
    by_reason: dict[str, list[str]] = {}
    for each in plan.passed_over:
        by_reason.setdefault(each["reason"], []).append(each["job"])
    ordered = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    return [Passed(reason, known.get(reason, reason), jobs) for reason, jobs in ordered]


def beneficiary_of(plan: Plan) -> Job | None:
    """The job that the plan is for, as last observed there; None when it is long gone."""
    return Job.objects.filter(cluster=plan.cluster_id, job_id=plan.job_id, partition=plan.partition).first()


def waiting_for(user: Any, cluster_name: str) -> QuerySet[Plan]:
    """The plans that an account is asked about, the oldest first."""
    partitions = decided_partitions(user, cluster_name)
    return asked_plans().filter(cluster__name=cluster_name, partition__in=partitions).order_by("pk")


def numbers_to_decide(user: Any, cluster_name: str) -> Counter[str]:
    """How much waits for an account, in one query: `plans`, and `requests` of managers for whom decides on those.

    Tasks of one array count once. Every page shows it.
    """
    plans, requests = user.has_perm(Permission.PLAN_DECIDE), user.has_perm(Permission.REQUEST_DECIDE)
    where = None if is_administrator(user) else administered_partitions(user)
    found = list(_to_decide(cluster_name, plans, requests, where))
    return Counter(kind for kind, _partition, _array in found)


def _to_decide(
    cluster_name: str, plans: bool, requests: bool, where: frozenset[int] | None
) -> QuerySet[Any, Any]:
    """Rows of what waits: plans in the partitions `where` (None: everywhere), and requests."""
    kind = partial(Value, output_field=CharField())
    rows: QuerySet[Any, Any] = Plan.objects.none().values_list(kind("plans"), "partition", "job_id")
    if plans:
        asked = asked_plans().filter(
            cluster__name=cluster_name, partition__in=_partitions(cluster_name, where)
        )
        rows = asked.order_by().values_list(kind("plans"), "partition", GROUP).distinct()
    if requests:
        waiting = UrgencyRequest.objects.filter(
            state=RequestState.WAITING, project__cluster__name=cluster_name
        )
        proposed = ProjectProposal.objects.filter(state=RequestState.WAITING, cluster__name=cluster_name)
        named = (kind("requests"), kind(""), kind(""))
        rows = rows.union(
            waiting.order_by().values_list(*named), proposed.order_by().values_list(*named), all=True
        )
    return rows


def decided_partitions(user: Any, cluster_name: str) -> QuerySet[Partition, str]:
    """The names of the partitions whose plans an account decides on: `PLAN_DECIDE`, for a list."""
    return _partitions(cluster_name, None if is_administrator(user) else administered_partitions(user))


def _partitions(cluster_name: str, where: frozenset[int] | None) -> QuerySet[Partition, str]:
    rows = Partition.objects.filter(cluster__name=cluster_name)
    return (rows if where is None else rows.filter(pk__in=where)).values_list("name", flat=True)


def decided_lately(user: Any, cluster_name: str, most: int) -> Sequence[Plan]:
    """The latest decisions of people in those partitions."""
    rows = Plan.objects.filter(cluster__name=cluster_name, decided_at__isnull=False)
    return list(
        rows.filter(partition__in=decided_partitions(user, cluster_name)).order_by("-decided_at")[:most]
    )


def asked_words(plan: Plan) -> str:
    """Who is asked about a proposal, for somebody who is not."""
    return _("It waits for an administrator of %(partition)s to approve or reject it.") % {
        "partition": plan.partition
    }


def may_decide(user: Any, plan: Plan) -> bool:
    """Whether an account is asked about this plan, now."""
    return plan.awaits_decision and bool(user.has_perm(Permission.PLAN_DECIDE, plan))


# The victims of a plan as rows of a table: several of one array or group are one row, which unfolds into them.
#
# Which ones are unfolded is in the address (`v_open=41`), as in the lists of jobs.

OPENED = "v_open"
APART = 3
"""So many victims of one group at most have a row each."""


def fold_anchor(group: str) -> str:
    """An id for the element that unfolds a group: its name may hold any letter."""
    return f"fold-{zlib.crc32(group.encode()):08x}"


@dataclass(frozen=True, slots=True)
class LossRow:
    """A row: one victim, or (with a `group`) several of one user; `first` stands for what is alike in all of them."""

    first: Loss
    group: str = ""
    losses: Sequence[Loss] = ()
    is_open: bool = False

    @property
    def name(self) -> str:
        """What people call the group."""
        return group_name(self.group)

    @property
    def anchor(self) -> str:
        """An id for an element."""
        return fold_anchor(self.group)

    @property
    def tasks(self) -> str:
        """`13 tasks`."""
        return ngettext("%d task", "%d tasks", len(self.losses)) % len(self.losses)

    @property
    def user_level(self) -> str:
        """The level of all of them; empty where they differ."""
        return self._alike("user_level")

    @property
    def task_level(self) -> str:
        """The same of the task level."""
        return self._alike("task_level")

    @property
    def how(self) -> str:
        """How all of them give way; empty where they differ."""
        return self._alike("how")

    @property
    def held(self) -> str:
        """What they hold together."""
        total: Counter[str] = Counter()
        for loss in self.losses:
            total.update(loss.victim.get("amounts") or {})
        return amounts(total)

    @property
    def longest_s(self) -> int:
        """How long the one has run that ran longest."""
        return max(loss.ran_s for loss in self.losses)

    @property
    def work(self) -> str:
        """The work that is lost in all, for a table's cell."""
        total: Work = {}
        for loss in self.losses:
            # `ran_s` of a loss is as of now, that of its victim as of the plan.
            add_work(total, work_of({**loss.victim, "ran_s": loss.ran_s}))
        return work_short(total)

    @property
    def fates(self) -> list[tuple[int, str, str]]:
        """How many came to which end: number, the fate and its words, the most frequent first."""
        counts = Counter(loss.fate.fate for loss in self.losses if loss.fate)
        words = {loss.fate.fate: loss.fate.get_fate_display() for loss in self.losses if loss.fate}
        return [(count, fate, str(words[fate])) for fate, count in counts.most_common()]

    def _alike(self, key: str) -> str:
        said = {str(loss.victim.get(key, "")) for loss in self.losses}
        return said.pop() if len(said) == 1 else ""


def loss_rows(losses: Iterable[Loss], opened: Collection[str] = ()) -> list[LossRow]:
    """The rows in the order of the victims; a group stands where its first one does."""
    together: dict[tuple[str, int], list[Loss]] = {}
    for place, loss in enumerate(losses):
        group = _group(loss)
        together.setdefault((group, 0 if group else place), []).append(loss)
    rows: list[LossRow] = []
    for (group, _place), theirs in together.items():
        if len(theirs) > APART:
            rows.append(LossRow(theirs[0], group, theirs, is_open=group in opened))
        else:
            rows += [LossRow(loss) for loss in theirs]
    return rows


def _group(loss: Loss) -> str:
    """The elastic job that a victim works for, or the array of a task (`41` of `41_7`); empty for another job."""
    array, mark, _task = str(loss.victim["job"]).partition("_")
    return str(loss.victim.get("worker_of") or (array if mark else ""))

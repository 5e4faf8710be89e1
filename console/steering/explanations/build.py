"""Putting the parts together: what matters most to whoever asks about this job now comes first."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from django.db.models import F, Q
from django.db.models.functions import Length
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.cluster.lives import of_one_life, runs_of
from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.core import clock, l10n_format
from console.partitions.models import Partition, PolicyRevision
from console.partitions.selectors import decoded, policy_of
from console.steering.backoff import putting_off
from console.steering.explanations.answer import (
    About,
    AnswerLine,
    AnswerPart,
    JobAnswer,
    Known,
    Return,
    Stage,
    kept,
    one_line,
    pace_of,
    stopping,
    victims,
    who,
)
from console.steering.explanations.stopping import DONE, as_stop, comes_back, count_line, passed_over, stopped
from console.steering.explanations.waiting import growth, runs_on_its_nodes, waiting
from console.steering.facts import BACK_OFF, backed_off, why_paused
from console.steering.models import (
    Checkpoint,
    ChosenPlace,
    Fate,
    KeptPlace,
    Plan,
    PlanKind,
    PlannedAction,
    PlanState,
    Victim,
)
from console.steering.requests import standing
from console.steering.served import array_of, plans_for
from scheduler.model.jobs import RunKey
from scheduler.model.policy import Dispatch, Mode, PartitionPolicy
from scheduler.model.reasons import Reason
from scheduler.preemption.sentences import clean

DETAILED = 3
"""So many stops are told in full; of the earlier ones only when and for whom."""
FORGOTTEN = "forgotten"
"""The state of a job that the mirror no longer has."""


def explain(known: Known) -> JobAnswer:
    """The answer, from what is known; nothing is read here."""
    row, latest = known.row, (known.stops[0] if known.stops else None)
    plans = [*(stop.plan for stop in known.stops), *known.own]
    partitions = tuple(each.partition for each in known.rows) or tuple({plan.partition for plan in plans})
    policy = known.policies.get(latest.plan.partition if latest else partitions[0])
    most = policy.max_preemptions_per_job if policy else None
    return JobAnswer(
        job_id=known.job_id,
        name=_name(known),
        user=_user(known),
        partitions=partitions,
        state=_state(row),
        parts=tuple(_ordered(known, row, latest, most)),
        stopped_by=tuple(as_stop(known, stop) for stop in known.stops),
        comes_back=_back(known, latest),
        plan=_plan(known, row, latest),
        stops=sum(stop.state in DONE for stop in known.stops),
        most_stops=most,
    )


def _state(row: Job | None) -> str:
    if row is None:
        return FORGOTTEN
    return "held" if row.phase == JobPhase.PENDING and row.held else str(row.phase)


def _name(known: Known) -> str:
    if known.row:
        return known.row.name
    return known.own[0].job_name if known.own else known.acts[0].job_name if known.acts else ""


def _user(known: Known) -> str:
    if known.row:
        return known.row.user
    return known.own[0].user if known.own else known.acts[0].user if known.acts else ""


def _back(known: Known, latest: PlannedAction | None) -> Return | None:
    return comes_back(known, latest) if latest else None


def _plan(known: Known, row: Job | None, latest: PlannedAction | None) -> int | None:
    """The plan that matters now: an open one for it, the one that stopped it, or the last one for it."""
    own = known.open_plan(row.partition) if row else None
    if own is None and latest is not None:
        return latest.plan_id
    own = own or (known.own[0] if known.own else None)
    return own.pk if own else None


def _ordered(
    known: Known, row: Job | None, latest: PlannedAction | None, most: int | None
) -> Iterator[AnswerPart]:
    """A job that is being or was stopped and is not back: that first. Else what it does now, then the past."""
    stage = comes_back(known, latest).stage if latest else None
    stops = list(_stops(known, most))
    away = stage in {Stage.STOPPING, Stage.HELD, Stage.RELEASED, Stage.NEVER, Stage.LOST}
    if away:
        yield stops.pop(0)
    if row is None or row.phase == JobPhase.ENDED:
        if stage != Stage.NEVER:
            yield _ended(row)
    elif row.phase == JobPhase.PENDING:
        if stage != Stage.HELD:
            yield from (waiting(known, each) for each in _in_order(known))
    elif not away:  # If it was stopped, the mirror shows a moment ago.
        yield _running(known, row)
    yield from _room(known)
    yield from growth(known)
    yield from stops


def _in_order(known: Known) -> list[Job]:
    rows = [row for row in known.rows if row.phase == JobPhase.PENDING]
    return sorted(rows, key=lambda row: (row.place == 0, row.place))


def _stops(known: Known, most: int | None) -> Iterator[AnswerPart]:
    done = sum(stop.state in DONE for stop in known.stops)
    for number, stop in enumerate(known.stops[:DETAILED]):
        part = stopped(known, stop)
        if number == 0 and done:
            part = AnswerPart(part.about, part.headline, (*part.lines, count_line(done, most)), part.plan)
        yield part
    earlier = [stop for stop in known.stops[DETAILED:] if stop.state in DONE]
    if earlier:
        text = ngettext(
            "It was stopped %d time before that.", "It was stopped %d times before that.", len(earlier)
        )
        lines = (
            AnswerLine(_("For %s") % who(stop.plan.job_id, stop.plan.user), stop.issued_at)
            for stop in earlier
        )
        yield AnswerPart(About.STOPPED, text % len(earlier), tuple(lines))


# --- It runs, or it is over -------------------------------------------------------------------------------


def _running(known: Known, row: Job) -> AnswerPart:
    ending = row.phase == JobPhase.COMPLETING
    headline = _("It is ending; what it holds comes free.") if ending else _("It runs.")
    return AnswerPart(About.RUNNING, headline, tuple(_running_lines(known, row)))


def _running_lines(known: Known, row: Job) -> Iterator[AnswerLine]:
    where = (
        l10n_format.names(clean(node) for node in sorted(row.alloc)) if row.alloc else clean(row.partition)
    )
    if row.start:
        yield AnswerLine(_("It started on %s") % where, clock.from_epoch(row.start))
    yield from runs_on_its_nodes(known)
    if row.phase == JobPhase.COMPLETING:
        return
    for plan in known.proposals:
        facts = {"plan": plan.pk, "job": who(plan.job_id, plan.user), "partition": clean(plan.partition)}
        if plan.enforcement == "approve":
            text = _("Plan %(plan)s would stop it for %(job)s; it waits for an administrator's approval.")
        else:
            text = _(
                "Plan %(plan)s would stop it for %(job)s, but %(partition)s is in shadow: nobody is stopped."
            )
        yield AnswerLine(text % facts)
    if row.protected:
        yield AnswerLine(_("Nobody may stop it: %s.") % kept(row.protected))
        return
    yield from _may_be_stopped(known, row)


def _may_be_stopped(known: Known, row: Job) -> Iterator[AnswerLine]:
    policy = known.policies.get(row.partition)
    young_until = clock.from_epoch(row.start) + timedelta(seconds=policy.exempt_s if policy else 0)
    if young_until > known.now:
        yield AnswerLine(_("Jobs that young are left alone here; it may be stopped"), young_until)
    pause = known.pauses.get(row.partition)
    if pause:
        yield AnswerLine(_("Nobody is stopped here: %s.") % kept(pause))


def _ended(row: Job | None) -> AnswerPart:
    if row is None:
        text = _("Slurm has forgotten it. This is what Giveway has kept.")
        return AnswerPart(About.ENDED, text)
    return AnswerPart(
        About.ENDED, _("It is no longer on the cluster."), (AnswerLine(_("It ended"), row.ended_at),)
    )


# --- Room was made for it ---------------------------------------------------------------------------------


def _room(known: Known) -> Iterator[AnswerPart]:
    """The newest plan that was carried out for it; while it waits, `waiting` speaks of the open one."""
    waits = known.row is not None and known.row.phase == JobPhase.PENDING
    plans = [plan for plan in known.own if plan.kind == PlanKind.PREEMPT and plan.started_at]
    if waits or not plans:
        return
    plan = plans[0]
    headline = _("Room was made for it.") if plan.victims else _("It was put first in Slurm's line.")
    yield AnswerPart(About.ROOM, headline, tuple(_room_lines(plan)), plan.pk)


def _room_lines(plan: Plan) -> Iterator[AnswerLine]:
    stopped_them = stopping(
        plan,
        _("Plan %(plan)s stopped %(victims)s for it."),
        _("Plan %(plan)s had %(victims)s make room for it."),
    )
    text = (
        stopped_them if plan.victims else _("Plan %(plan)s put it first in Slurm's line and stopped nobody.")
    )
    yield AnswerLine(text % {"plan": plan.pk, "victims": victims(plan)})
    yield AnswerLine(_("It was seen running"), plan.started_at)
    yield AnswerLine(kept(plan.explain, 1000))
    yield from passed_over(plan)
    if plan.decided_by:
        said = {"who": clean(plan.decided_by), "why": one_line(plan.decision_reason)}
        text = _("%(who)s approved it: %(why)s") if plan.decision_reason else _("%(who)s approved it.")
        yield AnswerLine(text % said, plan.decided_at)


# Everything that is kept about one job, in a fixed number of queries.

MOST_PLANS = 50
MOST_ACTIONS = 400
NAMED_AHEAD = 6


def rows_of(cluster: Cluster, job_id: str) -> list[Job]:
    """The job in the mirror, once for each partition that it is in."""
    return of_one_life(list(Job.objects.filter(cluster=cluster, job_id=job_id).order_by("partition")))


def read(
    cluster: Cluster, job_id: str, rows: Sequence[Job] | None = None, partitions: Iterable[Partition] = ()
) -> Known:
    """Read all of it. `rows` (of `rows_of`) and `partitions` (with their revisions) that the caller has already are
    not asked for again."""
    rows = rows_of(cluster, job_id) if rows is None else rows
    since = min((row.first_submit for row in rows), default=0)
    own = [plan for plan in plans_for(cluster, job_id) if _is_of(plan, job_id, since)][:MOST_PLANS]
    acts = PlannedAction.objects.filter(cluster=cluster, job_id=job_id).select_related("plan").order_by("-id")
    done = _done(acts[:MOST_ACTIONS], job_id, since)
    plans = [*own, *(act.plan for act in done)]
    names = {row.partition for row in rows} | {plan.partition for plan in plans}
    asked = Checkpoint.objects.filter(cluster=cluster, job_id=job_id, run_start__gte=since).order_by("-id")
    stands = standing(cluster.name)
    pauses = {pause.partition: pause for pause in stands.pauses}
    policies = _policies(cluster, names, partitions)
    return Known(
        cluster=cluster,
        job_id=job_id,
        now=clock.now(),
        rows=rows,
        own=own,
        acts=done,
        proposals=_proposals(cluster, rows),
        checkpoints=list(asked[:MOST_PLANS]),
        others=_others(cluster, plans, job_id),
        policies=policies,
        revisions=_revisions(cluster, plans),
        ahead=_ahead(rows),
        lowest=_lowest(rows, policies),
        pauses={name: why for name in names if (why := why_paused(name, pauses))},
        streaks=stands.streaks,
        next_try=_next_try(cluster, job_id, own),
        lost=_lost(cluster, job_id) if done and _may_be_lost(rows) else {},
        runs=_runs(cluster, job_id, rows),
        kept=_kept(cluster, job_id, rows, policies),
        placed=_placed(cluster, job_id, rows, policies),
        pace=pace_of(cluster, rows, policies),
    )


def _is_of(plan: Plan, job_id: str, since: int) -> bool:
    """Whether a plan was made for this job, first submitted at `since`, and not for an earlier one of its number."""
    return plan.job_submit is None or plan.job_submit >= since or not _same_number(plan.job_id, job_id)


def _same_number(one: str, other: str) -> bool:
    return (array_of(one) or one) == (array_of(other) or other)


def _done(acts: Iterable[PlannedAction], job_id: str, since: int) -> list[PlannedAction]:
    """What was done to this job. What is done to a waiting one names no run: there its plan tells."""
    return [
        act for act in acts if (act.run_start >= since if act.run_start else _is_of(act.plan, job_id, since))
    ]


def _kept(
    cluster: Cluster, job_id: str, rows: Sequence[Job], policies: Mapping[str, PartitionPolicy]
) -> KeptPlace | None:
    managed = (policy.dispatch is Dispatch.MANAGED or policy.balance for policy in policies.values())
    if not any(managed) or not any(row.phase == JobPhase.PENDING for row in rows):
        return None
    return KeptPlace.objects.filter(cluster=cluster, job_id=job_id, until__gt=0).first()


def _placed(
    cluster: Cluster, job_id: str, rows: Sequence[Job], policies: Mapping[str, PartitionPolicy]
) -> ChosenPlace | None:
    """Asked for only where a rule has jobs placed."""
    if not rows or not any(policy.balance for policy in policies.values()):
        return None
    return ChosenPlace.objects.filter(cluster=cluster, job_id=job_id).first()


def _runs(cluster: Cluster, job_id: str, rows: Sequence[Job]) -> list[JobRun]:
    """Of a job that was never restarted its row has the only one."""
    if not any(row.restarts for row in rows):
        return []
    return runs_of(cluster, job_id, min(row.first_submit for row in rows))


def _may_be_lost(rows: Sequence[Job]) -> bool:
    """One that is in the queue, or runs, is not."""
    return not rows or any(row.held or row.phase == JobPhase.ENDED for row in rows)


def _lost(cluster: Cluster, job_id: str) -> dict[tuple[int, RunKey], Victim]:
    rows = Victim.objects.filter(cluster=cluster, job_id=job_id, fate=Fate.LOST)
    return {(row.plan_id, RunKey(row.job_id, row.run_start, row.run_restarts)): row for row in rows}


def _next_try(cluster: Cluster, job_id: str, own: Sequence[Plan]) -> datetime | None:
    """When a new plan may be made for it, after one that was undone."""
    undone = [plan for plan in own if plan.state == PlanState.UNDONE and plan.ended_at]
    if not undone:
        return None
    if job_id in backed_off(cluster):
        return undone[0].ended_at and undone[0].ended_at + BACK_OFF
    return putting_off(cluster).next_try(undone)


def tasks_of(cluster: Cluster, job_id: str) -> list[str]:
    """The tasks of a job array, if this is the number of one: `41_0`, `41_1`, …"""
    if not job_id.isdecimal():
        return []
    rows = Job.objects.filter(cluster=cluster, job_id__startswith=f"{job_id}_").order_by(
        Length("job_id"), "job_id"
    )
    return list(rows.values_list("job_id", flat=True).distinct()[:MOST_PLANS])


def _proposals(cluster: Cluster, rows: Sequence[Job]) -> list[Plan]:
    """Proposed plans that would stop the job, which runs."""
    running = {(row.partition, row.job_id) for row in rows if row.phase == JobPhase.RUNNING}
    if not running:
        return []
    plans = Plan.objects.filter(
        cluster=cluster,
        state=PlanState.PROPOSED,
        not_now="",
        partition__in=[partition for partition, _ in running],
    )
    return [
        plan
        for plan in plans.order_by("-id")
        if any((plan.partition, victim["job"]) in running for victim in plan.victims)
    ]


def _others(cluster: Cluster, plans: Sequence[Plan], job_id: str) -> dict[tuple[str, str], Job]:
    ids = {plan.job_id for plan in plans} - {job_id}
    rows = Job.objects.filter(cluster=cluster, job_id__in=ids) if ids else ()
    return {(row.partition, row.job_id): row for row in rows}


def _policies(
    cluster: Cluster, names: Collection[str], known: Iterable[Partition]
) -> dict[str, PartitionPolicy]:
    here = {row.name: row for row in known if row.cluster_id == cluster.pk and row.name in names}
    if missing := set(names) - here.keys():
        rows = Partition.objects.filter(cluster=cluster, name__in=missing).select_related("revision")
        here |= {row.name: row for row in rows}
    return {name: policy_of(row) for name, row in here.items() if row.revision_id}


def _revisions(cluster: Cluster, plans: Sequence[Plan]) -> dict[tuple[str, int], PartitionPolicy]:
    wanted = {(plan.partition, plan.policy_revision) for plan in plans if plan.policy_revision}
    if not wanted:
        return {}
    rows = PolicyRevision.objects.filter(
        partition__cluster=cluster,
        partition__name__in={name for name, _ in wanted},
        number__in={number for _, number in wanted},
    ).select_related("partition")
    return {
        (row.partition.name, row.number): decoded(row.document)
        for row in rows
        if (row.partition.name, row.number) in wanted
    }


def _ahead(rows: Sequence[Job]) -> dict[str, list[Job]]:
    """The jobs just before it in line, of each partition where it waits."""
    places = {row.partition: row.place for row in rows if row.place > 1}
    if not places:
        return {}
    near = Q()
    for partition, place in places.items():
        near |= Q(partition=partition, place__gte=max(1, place - NAMED_AHEAD), place__lt=place)
    before = Job.objects.filter(near, cluster=rows[0].cluster_id, phase=JobPhase.PENDING).order_by("-place")
    found: dict[str, list[Job]] = {}
    for row in before:
        found.setdefault(row.partition, []).append(row)
    return found


def _lowest(rows: Sequence[Job], policies: Mapping[str, PartitionPolicy]) -> dict[str, Job]:
    """Where nothing lower runs: who ranks lowest of those that may be stopped."""
    found: dict[str, Job] = {}
    for row in rows:
        policy = policies.get(row.partition)
        if row.reason != Reason.NOTHING_LOWER_RUNS or policy is None:
            continue
        by_user = policy.mode in {Mode.USER, Mode.USER_THEN_TASK}
        axis = F("user_level" if by_user else "task_level").desc(nulls_first=True)
        running = Job.objects.filter(
            cluster=row.cluster_id, partition=row.partition, phase=JobPhase.RUNNING, protected=""
        )
        first = running.order_by(axis, "-start").first()
        if first is not None:
            found[row.partition] = first
    return found

"""Why a job is where it is, who stands in its way or could displace it, and what would change that
(contract A)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scheduler.model import words
from scheduler.model.jobs import JobState, Level, SnapshotJob
from scheduler.model.plan import STOPPED, DecidedVictim, Decision, DecisionKind, How, PlanningResult
from scheduler.model.reasons import SENTENCES, Reason
from scheduler.model.resources import total
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.pieces import units_in
from scheduler.preemption.planner import METHODS, plan
from scheduler.preemption.ranking import Ranking
from scheduler.preemption.sentences import ExplanationWriter, clean, printable
from scheduler.preemption.sparing import rests_for
from scheduler.priority.levels import level_word, weight
from scheduler.priority.order import pending_order

_GETS_ROOM = frozenset({DecisionKind.START, DecisionKind.SHRINK, DecisionKind.PREEMPT})
_NOT_BY_RANK = frozenset(
    {
        Reason.BLOCKED,
        Reason.DOES_NOT_FIT_EVER,
        Reason.PLAN_RUNNING,
        Reason.OVER_QUOTA_REJECTED,
        Reason.PAUSED,
        Reason.TOO_SOON,
        Reason.COOL_DOWN,
        Reason.CRASHES,
    }
)
_SHOWN = 12


def explain(snapshot: Snapshot, job_id: str) -> str:
    """The explanation of one job, several lines of plain text. Raises KeyError when there is no such job."""
    jobs = {job.id: job for job in snapshot.jobs}
    job = jobs[job_id]
    about = _About(snapshot, plan(snapshot), ExplanationWriter(snapshot), jobs)
    if job.state is JobState.PENDING:
        lines = _pending(about, job)
    elif job.state is JobState.RUNNING:
        lines = _running(about, job)
    else:
        lines = iter([f"{about.say.who(job)} is ending; what it holds comes free: {_held(job)}."])
    return "\n".join(map(printable, lines))


@dataclass(frozen=True, slots=True)
class _About:
    """What every explanation needs."""

    snapshot: Snapshot
    plan: PlanningResult
    say: ExplanationWriter
    jobs: dict[str, SnapshotJob]

    def decision(self, job_id: str) -> Decision:
        """The plan's decision on a pending job."""
        return next(decision for decision in self.plan.decisions if decision.job == job_id)


# --- A pending job ----------------------------------------------------------------------------------------


def _pending(about: _About, job: SnapshotJob) -> Iterator[str]:
    decision = about.decision(job.id)
    yield f"{about.say.who(job)} has been waiting for {words.duration(about.snapshot.now - job.submit)}."
    yield f"Verdict: {decision.action.value} ({decision.reason.value}). {SENTENCES[decision.reason]}"
    yield decision.explain
    ahead = _ahead(about, job)
    if ahead:
        yield f"Decided before it: {words.names((about.say.who(other) for other in ahead), _SHOWN)}."
    if decision.passed_over:
        yield "Running jobs left alone:"
        for other in decision.passed_over[:_SHOWN]:
            yield f"  {about.say.who(about.jobs[other.job])}: {SENTENCES[other.reason]}"
        if len(decision.passed_over) > _SHOWN:
            yield f"  and {len(decision.passed_over) - _SHOWN} more."
    if decision.action is DecisionKind.QUEUE or decision.reason is Reason.EARLIEST_START:
        yield _nearest_change(about, job, decision)


def _ahead(about: _About, job: SnapshotJob) -> list[SnapshotJob]:
    mode = about.snapshot.partition.mode
    own = pending_order(mode, job)
    waiting = (
        other for other in about.snapshot.jobs if other.state is JobState.PENDING and not other.blocked
    )
    before = [other for other in waiting if pending_order(mode, other) < own]
    return sorted(before, key=lambda other: pending_order(mode, other))


def _nearest_change(about: _About, job: SnapshotJob, decision: Decision) -> str:
    """The first level, going up one by one, at which the job would get room: as a user, then as a task."""
    if decision.reason in _NOT_BY_RANK:
        return f"No level would change that. {SENTENCES[decision.reason]}"
    for other, title in _promotions(about, job):
        result = _decided(about, other)
        if result.action in _GETS_ROOM:
            return f"At {title} it would start now {_by_what(result)}."
    return "No higher level would give it room now: it has to wait until something ends."


def _by_what(result: Decision) -> str:
    """By whom, or where, another decision would give a job room."""
    if not result.victims:
        return f"on {words.names(map(clean, result.nodes))}"
    stopped = [clean(victim.job) for victim in result.victims if victim.how in STOPPED]
    partly = [clean(victim.job) for victim in result.victims if victim.how not in STOPPED]
    if not partly:
        return f"by stopping {words.names(stopped, _SHOWN)}"
    shrinking = (
        f"taking a part of what {words.names(partly, _SHOWN)} {'hold' if len(partly) > 1 else 'holds'}"
    )
    return f"by stopping {words.names(stopped, _SHOWN)} and {shrinking}" if stopped else f"by {shrinking}"


def _promotions(about: _About, job: SnapshotJob) -> Iterator[tuple[SnapshotJob, str]]:
    """The job with a higher user level, then with a higher task level, each step the smallest that
    matters."""
    names = about.snapshot.partition.level_names
    for level in _steps_up(about, job.user_level):
        yield replace(job, user_level=level), f"user level {level_word(level, names)}"
    for level in _steps_up(about, job.task_level):
        yield replace(job, task_level=level), f"task level {level_word(level, names, 'L')}"


def _steps_up(about: _About, level: Level) -> list[int]:
    """Higher levels, the nearest first: those of the partition, of its jobs, and one above each of them."""
    present = {
        each for job in about.snapshot.jobs for each in (job.user_level, job.task_level) if each is not None
    }
    known = (
        present
        | {each - 1 for each in present if each}
        | set(range(len(about.snapshot.partition.level_names)))
    )
    return sorted((each for each in known | {0} if level is None or each < level), reverse=True)


def _decided(about: _About, job: SnapshotJob) -> Decision:
    jobs = tuple(job if other.id == job.id else other for other in about.snapshot.jobs)
    again = plan(replace(about.snapshot, jobs=jobs))
    return next(decision for decision in again.decisions if decision.job == job.id)


# --- A running job ----------------------------------------------------------------------------------------


def _running(about: _About, job: SnapshotJob) -> Iterator[str]:
    ran = about.snapshot.now - (job.start or 0)
    yield f"{about.say.who(job)} has been running for {words.duration(ran)} and holds {_held(job)}."
    yield from _grows(about, job)
    beneficiary, victim = _gives_way_to(about, job)
    if beneficiary is not None and victim is not None:
        yield _gives_way(about, job, victim, beneficiary)
        yield about.decision(beneficiary.id).explain
        yield _what_would_spare(about, job)
        return
    if not job.preemptable:
        yield f"Nobody may stop it: {clean(job.protected, 200) or 'it is marked as not preemptable'}."
        return
    yield from _spared_for_now(about, job)
    exempt = about.snapshot.partition.exempt_s - ran
    if exempt > 0:
        yield f"Nobody may stop it for another {words.duration(exempt)}: jobs that young are exempt here."
    yield from _rests(about, job, ran)
    above = _could_displace(about, job)
    if above:
        yield f"Waiting jobs that outrank it: {words.names((about.say.who(other) for other in above), _SHOWN)}."
        yield "None of them needs its room now."
    else:
        yield "No waiting job outranks it, so nothing that waits now could stop it."
    yield _who_could(about, job)


def _grows(about: _About, job: SnapshotJob) -> Iterator[str]:
    """What it gets in this plan, or what methods say of it."""
    grown = next((decision for decision in about.plan.decisions if decision.job == job.id), None)
    if grown is not None:
        yield f"Verdict: {grown.action.value} ({grown.reason.value}). {SENTENCES[grown.reason]}"
        yield grown.explain
        return
    for method in METHODS:
        yield from method.said_of_running(about.snapshot, job)


def _spared_for_now(about: _About, job: SnapshotJob) -> Iterator[str]:
    """The limits of the partition that keep it running, whoever outranks it."""
    rules = about.snapshot.partition
    if rules.paused:
        yield f"Nobody may be stopped just now: {clean(rules.paused, 200)}."
    used, most = rules.stopped_by_user.get(job.user, 0), rules.max_stops_per_user_hour
    if most is not None and used >= most:
        yield f"Nobody may stop it now: jobs of {clean(job.user)} were stopped {used} of {most} times in this hour."


def _rests(about: _About, job: SnapshotJob, ran: int) -> Iterator[str]:
    """What keeps it running because it was stopped before."""
    rules = about.snapshot.partition
    left, most = rests_for(job, ran, rules), rules.max_stops_per_job_hour
    if left > 0:
        yield f"Nobody may stop it for another {words.duration(left)}: it has come back from a stop and rests."
    if most is not None and job.stopped >= most:
        yield f"Nobody may stop it now: it was stopped {job.stopped} of {most} times in this hour."


def _held(job: SnapshotJob) -> str:
    return f"{words.amounts(total(job.alloc.values()))} on {words.names(clean(node) for node in sorted(job.alloc))}"


def _how(job: SnapshotJob) -> str:
    return "requeued" if job.how == "requeue" else "cancelled, since it cannot be requeued"


def _gives_way_to(about: _About, job: SnapshotJob) -> tuple[SnapshotJob | None, DecidedVictim | None]:
    """The pending job that a running one gives way to, and how."""
    for decision in about.plan.decisions:
        for victim in decision.victims:
            if victim.job == job.id:
                return about.jobs[decision.job], victim
    return None, None


def _gives_way(about: _About, job: SnapshotJob, victim: DecidedVictim, beneficiary: SnapshotJob) -> str:
    who = about.say.who(beneficiary)
    if victim.how is How.SWAP:
        up, gets = (words.names(map(clean, names)) for names in (victim.nodes, victim.gets))
        return (
            f"It is to exchange {up} for {gets} for {who}; work of its last minutes may have to be repeated."
        )
    if victim.how is How.NODES:
        return (
            f"It is to give up {words.names(map(clean, victim.nodes))} for {who}, and goes on with the rest."
        )
    if victim.how is How.UNITS:
        held = sum(units_in(amounts, job.unit) for amounts in job.alloc.values())
        left = f"goes on with {held - victim.units}" if victim.units < held else "has none left"
        return f"It is to give back {victim.units} of its {held} units for {who}, and {left}."
    return f"It is to be stopped ({_how(job)}) for {who}."


def _could_displace(about: _About, job: SnapshotJob) -> list[SnapshotJob]:
    ranking = Ranking.of(about.snapshot.partition)
    own = ranking.weights(job)
    waiting = (
        other for other in about.snapshot.jobs if other.state is JobState.PENDING and not other.blocked
    )
    above = [other for other in waiting if ranking.scope(*ranking.weights(other)).class_of(*own) is not None]
    return sorted(above, key=lambda other: pending_order(ranking.mode, other))


def _what_would_spare(about: _About, job: SnapshotJob) -> str:
    for other, title in _promotions(about, job):
        changed = replace(
            about.snapshot, jobs=tuple(other if each.id == job.id else each for each in about.snapshot.jobs)
        )
        again = plan(changed)
        if not any(victim.job == job.id for decision in again.decisions for victim in decision.victims):
            return f"At {title} it would go on running."
    return "No higher level would spare it."


def _who_could(about: _About, job: SnapshotJob) -> str:
    """The lowest level that could stop it: on the mode's first axis, else among equals on its second."""
    ranking = Ranking.of(about.snapshot.partition)
    first, second = ranking.weights(job)
    names = about.snapshot.partition.level_names
    axes = [(job.user_level, "user", "P"), (job.task_level, "task", "L")]
    if not ranking.mode.value.startswith("user"):
        axes.reverse()
    (own, axis, letter), (own_second, axis_second, letter_second) = axes
    for level in _steps_up(about, own):
        if ranking.scope(weight(level), second).class_of(first, second) is not None:
            return f"A job of {axis} level {level_word(level, names, letter)} or higher could stop it."
    for level in _steps_up(about, own_second) if ranking.two_axes else ():
        if ranking.scope(first, weight(level)).class_of(first, second) is not None:
            word = level_word(level, names, letter_second)
            return f"A job of the same {axis} level with {axis_second} level {word} or higher could stop it."
    return f"It has the highest {axis} level: nobody can stop it."

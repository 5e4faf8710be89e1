"""From a snapshot to a plan: what becomes of every pending job (spec 1.4, contract A).

1. Room that is being made for a job already (`promised`) is set aside first.
2. Running jobs beyond their users' quotas count as unconfigured on both axes: they are the first to yield.
3. The pending jobs are decided from the highest rank down. What one decision takes or frees, the next one
   sees; a job that stays in the queue takes nothing. A running elastic job that lacks workers has its turn among
   them, by its rank, and grows into free room (`elastic.growing`).
4. A job that is blocked, or that a quota holds, stays in the queue. One that a quota demotes is decided
   after all the others, and then counts as unconfigured: it may only use what is free.
5. Each of the others goes through these steps, in this order, until one of them decides it (`STEPS`; a balanced
   job through `BALANCED`, where every step looks for an even set):
   - free room: it starts (`free_room`; in managed dispatch on the best nodes, `reservation`);
   - room that is coming: it waits for jobs that are ending, and that room is set aside (`free_room`);
   - shrinks: elastic jobs that it outranks give up workers, and nobody is stopped (`elastic`);
   - patience: it is predicted to start by itself soon enough, so nobody is stopped (`reservation`);
   - stops and units: lower jobs that are neither protected nor exempt make room, on nodes where the job can
     run (`stopping`, `search`); who holds units, or is elastic, loses no more of them than is needed (`units`).
     If all of that is not enough, nobody loses anything. If a limit forbids it (`limits`), the job stays in the
     queue, takes nothing, and says so;
   - a part: a request in units gets those units that are free (`units`).
   Whom no step decides stays in the queue; in managed dispatch nodes are kept for it (`reservation`).
   A worker beyond the minimum of its elastic job only gets room that is free or coming.
   A job whose nodes must all have the same one of several features goes through each step with one after the other;
   one that counts its nodes by their features, through steps of its own (`constrained`).
6. Where stopped jobs have a rest, nobody is stopped who would be the next to have others stopped for it (`chains`).
7. The result depends on nothing but the snapshot, and not on the order of its rows.
"""

from dataclasses import replace

from scheduler.model import sentence
from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.plan import Decision, DecisionKind, PlanningResult
from scheduler.model.policy import OverQuota
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import Snapshot
from scheduler.preemption import collector
from scheduler.preemption.balance.steps import (
    even_set,
    exchange,
    nearest_set,
    no_even_set,
    stop_for_an_even_set,
)
from scheduler.preemption.chains import without_chains
from scheduler.preemption.constrained import first_of, in_groups
from scheduler.preemption.elastic.growing import grow, growers
from scheduler.preemption.elastic.jobs_as_workers import with_growing, with_workers_together
from scheduler.preemption.elastic.steps import shrink_elastic_jobs
from scheduler.preemption.free_room import free_room, room_that_is_coming
from scheduler.preemption.planning_run import Ask, PlanningRun, Step
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.reservation.steps import best_free_nodes, look_ahead, next_in_turn, starts_soon
from scheduler.preemption.sentences import clean, printable, wanted
from scheduler.preemption.shapes import alternatives
from scheduler.preemption.stopping import no_room, stop_lower_jobs
from scheduler.preemption.units.groups import in_groups_of_tasks
from scheduler.preemption.units.steps import free_part
from scheduler.priority.levels import weight
from scheduler.priority.order import pending_order

STEPS: tuple[Step, ...] = (
    best_free_nodes,
    free_room,
    room_that_is_coming,
    shrink_elastic_jobs,
    starts_soon,
    next_in_turn,
    stop_lower_jobs,
    free_part,
)
BALANCED: tuple[Step, ...] = (
    even_set,
    exchange,
    nearest_set,
    starts_soon,
    stop_for_an_even_set,
    no_even_set,
)
"""Instead of `STEPS`, for jobs that want nodes of equal compute power."""

_NOTHING = weight(None)
_PENDING = JobState.PENDING


def plan(snapshot: Snapshot) -> PlanningResult:
    """The plan for a snapshot: one decision per pending job, in the order in which they were made."""
    with collector.paused():
        return in_groups_of_tasks(
            with_growing(snapshot), lambda asked: with_workers_together(asked, _without_chains)
        )


def _without_chains(snapshot: Snapshot) -> PlanningResult:
    return without_chains(snapshot, _made(snapshot), _made)


def _made(snapshot: Snapshot, alone: frozenset[str] = frozenset()) -> PlanningResult:
    return _Planner(snapshot, alone).plan()


class _Planner:
    """One plan in the making."""

    def __init__(self, snapshot: Snapshot, alone: frozenset[str]) -> None:
        self._snapshot = snapshot
        self._cycle = PlanningRun(snapshot, alone)

    def plan(self) -> PlanningResult:
        """Points 1 to 5."""
        cycle = self._cycle
        mode = cycle.ranking.mode
        pending = [job for job in self._snapshot.jobs if job.state is _PENDING]
        pending += growers(self._snapshot)
        pending.sort(key=lambda job: pending_order(mode, job))
        for job in pending:
            if job.promised:
                cycle.set_aside(job, job.promised, coming_first=True)
        decisions: list[Decision] = []
        demoted: list[SnapshotJob] = []
        for job in pending:
            decision = self._without_search(job)
            if decision is not None:
                decisions.append(decision)
            elif self._is_demoted(job):
                demoted.append(job)
            elif job.state is JobState.RUNNING:
                decisions.extend(grow(cycle, job))
            elif job.grows:
                decisions.append(self._decide(job, cycle.ranking.reach(_NOTHING, _NOTHING)))
            else:
                decisions.append(self._decide(job, cycle.ranking.reach(*cycle.ranking.weights(job))))
        for job in demoted:
            growing = job.state is JobState.RUNNING
            decisions.extend(grow(cycle, job) if growing else [self._decide_demoted(job)])
        cycle.take_apart()
        return PlanningResult(self._snapshot.partition.name, tuple(map(_fit_to_be_shown, decisions)))

    def _without_search(self, job: SnapshotJob) -> Decision | None:
        """Point 4 and what is settled already."""
        cycle, say = self._cycle, self._cycle.say
        if job.state is JobState.RUNNING:
            return None
        if job.promised:
            return Decision(
                job.id,
                DecisionKind.WAIT,
                Reason.PLAN_RUNNING,
                say.promised(job),
                nodes=tuple(job.promised),
                at=self._snapshot.now,
                placement=job.promised,
            )
        if job.blocked:
            return cycle.queued(job, Reason.BLOCKED, say.blocked(job))
        if not cycle.quotas.over(job):
            return None
        over = say.over_quota(job, cycle.quotas.nearest(job))
        match self._snapshot.partition.over_quota:
            case OverQuota.HOLD:
                words = sentence.say("quota.held", who=say.who(job), why=over)
                return cycle.queued(job, Reason.OVER_QUOTA_HELD, words)
            case OverQuota.REJECT:
                words = sentence.say("quota.refused", who=say.who(job), why=over)
                return cycle.queued(job, Reason.OVER_QUOTA_REJECTED, words)
            case OverQuota.LOWEST:
                return None

    def _is_demoted(self, job: SnapshotJob) -> bool:
        if job.state is JobState.RUNNING:
            return job.id in self._cycle.demoted
        return self._snapshot.partition.over_quota is OverQuota.LOWEST and self._cycle.quotas.over(job)

    def _decide_demoted(self, job: SnapshotJob) -> Decision:
        cycle = self._cycle
        over = cycle.say.over_quota(job, cycle.quotas.nearest(job))
        decision = self._decide(job, cycle.ranking.reach(_NOTHING, _NOTHING))
        note = sentence.say("quota.lowest", job=clean(job.id), why=over)
        return replace(decision, explain=sentence.join(decision.explain, note))

    def _decide(self, job: SnapshotJob, reach: PreemptionScope) -> Decision:
        """The steps of point 5."""
        cycle = self._cycle
        if job.request is None or not any(wanted(job).values()):
            return cycle.queued(job, Reason.BLOCKED, sentence.say("blocked.unknown", who=cycle.say.who(job)))
        every = [Ask(job, cycle.shapes.of(request), reach) for request in alternatives(job.request)]
        asks = [ask for ask in every if ask.shape.ever]
        if not asks:
            return cycle.queued(job, Reason.DOES_NOT_FIT_EVER, cycle.say.never(job, every[0].shape))
        ask = asks[0]
        if job.grows:
            return _grown(cycle, ask)
        even = cycle.balancing is not None and cycle.balancing.applies(job, ask.shape)
        if job.request.counted:
            return in_groups(cycle, ask, cycle.shapes.groups(job.request)) or no_room(cycle, ask)
        for step in BALANCED if even else STEPS:
            decision = step(cycle, ask) if len(asks) == 1 else first_of(step, cycle, asks)
            if decision is not None:
                return look_ahead(cycle, ask, decision)
        return look_ahead(cycle, ask, no_room(cycle, ask))


def _grown(cycle: PlanningRun, ask: Ask) -> Decision:
    """A worker beyond the minimum of its elastic job gets room that is free or coming, or waits for some."""
    for step in (best_free_nodes, free_room, room_that_is_coming, free_part):
        decision = step(cycle, ask)
        if decision is not None:
            return decision
    least = ask.job.elastic.min_workers if ask.job.elastic else None
    words = sentence.say("grows.later", who=cycle.say.who(ask.job), least=least or 0)
    return cycle.queued(ask.job, Reason.GROWS_LATER, words)


def _fit_to_be_shown(decision: Decision) -> Decision:
    """Names of levels and resources are in the sentence as they are: nothing in it may act on a terminal."""
    if decision.explain.isprintable() or not isinstance(decision.explain, sentence.Sentence):
        return decision
    return replace(decision, explain=sentence.with_names(decision.explain, printable))

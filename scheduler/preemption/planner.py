"""From a snapshot to a plan: what becomes of every pending job (spec 1.4, contract A).

1. Room that is being made for a job already (`promised`) is set aside first.
2. Running jobs beyond their users' quotas count as unconfigured on both axes: they are the first to yield.
3. The pending jobs are decided from the highest rank down. What one decision takes or frees, the next one
   sees; a job that stays in the queue reserves nothing.
4. A job that is blocked, or that a quota holds, stays in the queue. One that a quota demotes is decided
   after all the others, and then counts as unconfigured: it may only use what is free.
5. If the job fits into what is free, it starts. If it fits when jobs that are ending are gone, it waits
   for them, and that room is set aside.
6. Else victims are looked for (`search`): only jobs that it outranks, neither protected nor exempt, on
   nodes where the job can run. If stopping all of them is not enough, nobody is stopped.
7. If a limit forbids to stop those who were found (`limits`), the job stays in the queue, takes nothing, and
   says so.
8. The result depends on nothing but the snapshot, and not on the order of its rows.
"""

from dataclasses import replace

from scheduler.model.jobs import Job, JobState
from scheduler.model.plan import Decision, DecisionKind, Plan, Victim
from scheduler.model.policy import Mode, OverQuota
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.limits import Found, Limits
from scheduler.preemption.passed import passed_over
from scheduler.preemption.quotas import Quotas, beyond_quota
from scheduler.preemption.ranking import SECOND_TIER, Ranking, Reach
from scheduler.preemption.returning import Returning
from scheduler.preemption.search import Placement, Search, Wanted
from scheduler.preemption.sentences import Speaker, clean, printable
from scheduler.preemption.several import Room
from scheduler.preemption.shapes import Shape, Shapes
from scheduler.preemption.universe import Universe
from scheduler.priority.levels import weight
from scheduler.priority.order import pending_order

_MOST_EXPLAINED = 50
_NOTHING = weight(None)


def plan(snapshot: Snapshot) -> Plan:
    """The plan for a snapshot: one decision per pending job, in the order in which they were made."""
    return _Planner(snapshot).plan()


class _Planner:
    """One plan in the making."""

    def __init__(self, snapshot: Snapshot) -> None:
        rules = snapshot.partition
        self._snapshot = snapshot
        self._ranking = Ranking.of(rules)
        self._quotas = Quotas(rules, snapshot.jobs)
        demoted = beyond_quota(rules, snapshot.jobs)
        self._universe = Universe(snapshot, self._ranking, demoted)
        self._shapes = Shapes(self._universe)
        self._search = Search(self._universe)
        returning = Returning(self._ranking, self._quotas, demoted)
        self._limits = Limits(snapshot, self._universe, self._search, returning)
        self._say = Speaker(snapshot)
        self._explained = 0

    def plan(self) -> Plan:
        """Steps 1 to 7."""
        mode = self._ranking.mode
        pending = [job for job in self._snapshot.jobs if job.state is JobState.PENDING]
        pending.sort(key=lambda job: pending_order(mode, job))
        for job in pending:
            if job.promised:
                self._universe.take(job.promised, coming_first=True)
                self._quotas.started(job)
        decisions: list[Decision] = []
        demoted: list[Job] = []
        for job in pending:
            decision = self._without_search(job)
            if decision is not None:
                decisions.append(decision)
            elif self._is_demoted(job):
                demoted.append(job)
            else:
                decisions.append(self._decide(job, self._ranking.reach(*self._ranking.weights(job))))
        decisions.extend(self._decide_demoted(job) for job in demoted)
        return Plan(self._snapshot.partition.name, tuple(map(_fit_to_be_shown, decisions)))

    def _without_search(self, job: Job) -> Decision | None:
        """Step 4 and what is settled already."""
        if job.promised:
            return Decision(
                job.id,
                DecisionKind.WAIT,
                Reason.PLAN_RUNNING,
                self._say.promised(job),
                nodes=tuple(job.promised),
                at=self._snapshot.now,
                placement=job.promised,
            )
        if job.blocked:
            return self._queued(job, Reason.BLOCKED, self._say.blocked(job))
        if not self._quotas.over(job):
            return None
        over = self._say.over_quota(job, self._quotas.nearest(job))
        match self._snapshot.partition.over_quota:
            case OverQuota.HOLD:
                words = f"{self._say.who(job)} is held until a job of its level ends: {over}."
                return self._queued(job, Reason.OVER_QUOTA_HELD, words)
            case OverQuota.REJECT:
                words = f"{self._say.who(job)} is refused: {over}."
                return self._queued(job, Reason.OVER_QUOTA_REJECTED, words)
            case OverQuota.LOWEST:
                return None

    def _is_demoted(self, job: Job) -> bool:
        return self._snapshot.partition.over_quota is OverQuota.LOWEST and self._quotas.over(job)

    def _decide_demoted(self, job: Job) -> Decision:
        over = self._say.over_quota(job, self._quotas.nearest(job))
        decision = self._decide(job, self._ranking.reach(_NOTHING, _NOTHING))
        note = f" {clean(job.id)} counts as unconfigured: {over}."
        return replace(decision, explain=decision.explain + note)

    def _decide(self, job: Job, reach: Reach) -> Decision:
        """Steps 5 to 7."""
        if job.request is None:
            return self._queued(job, Reason.BLOCKED, f"{self._say.who(job)} asks for something unknown.")
        shape = self._shapes.of(job.request)
        if not shape.ever:
            return self._queued(job, Reason.DOES_NOT_FIT_EVER, self._say.never(job))
        placement = self._search.room(shape, coming=False)
        if placement is not None:
            return self._start(job, shape, placement)
        if self._universe.coming:
            placement = self._search.room(shape, coming=True)
            if placement is not None:
                return self._wait(job, placement)
        below = self._universe.below(reach)
        found = self._limits.victims(job, Wanted(shape, reach), below)
        if found is not None:
            return (
                self._held(job, shape, reach, found)
                if found.held
                else self._preempt(job, shape, reach, found)
            )
        if below.stoppable + below.spared == 0:
            decision = self._queued(job, Reason.NOTHING_LOWER_RUNS, self._say.nothing_lower(job))
        else:
            decision = self._queued(job, Reason.NOT_ENOUGH_EVEN_SO, self._say.not_enough(job, below))
        return self._with_passed_over(decision, shape, reach)

    def _start(self, job: Job, shape: Shape, placement: Placement) -> Decision:
        words = self._say.start(job, placement, self._search.free(shape, placement))
        self._take(placement, coming_first=False)
        self._quotas.started(job)
        return Decision(
            job.id,
            DecisionKind.START,
            Reason.ROOM_IS_FREE,
            words,
            nodes=tuple(placement),
            placement=placement,
        )

    def _take(self, placement: Placement, *, coming_first: bool) -> None:
        self._universe.take(placement, coming_first)
        self._limits.changed()

    def _held(self, job: Job, shape: Shape, reach: Reach, found: Found) -> Decision:
        """Step 7."""
        free = self._search.free(shape, [place.node.name for place in found.room.places])
        reason = found.held.reason if found.held else Reason.NOT_ENOUGH_EVEN_SO
        decision = self._queued(job, reason, self._say.held(job, found, free))
        return self._with_passed_over(decision, shape, reach, found)

    def _wait(self, job: Job, placement: Placement) -> Decision:
        self._take(placement, coming_first=True)
        self._quotas.started(job)
        return Decision(
            job.id,
            DecisionKind.WAIT,
            Reason.ROOM_IS_COMING,
            self._say.wait(job, placement),
            nodes=tuple(placement),
            at=self._snapshot.now,
            placement=placement,
        )

    def _preempt(self, job: Job, shape: Shape, reach: Reach, found: Found) -> Decision:
        room = found.room
        victims = room.price.victims[::-1]
        free = self._search.free(shape, [place.node.name for place in room.places])
        for runner in victims:
            self._universe.stop(runner)
            self._quotas.stopped(runner.job)
        self._limits.stopped(reach, victims)
        placement = self._search.placement(shape, room)
        decision = Decision(
            job.id,
            DecisionKind.PREEMPT,
            _reason(self._ranking.mode, reach, room),
            self._say.preempt(job, placement, free, victims),
            nodes=tuple(placement),
            victims=tuple(Victim(runner.job.id, runner.job.how) for runner in victims),
            placement=placement,
        )
        decision = self._with_passed_over(decision, shape, reach, found)
        self._take(placement, coming_first=True)
        self._quotas.started(job)
        return decision

    def _queued(self, job: Job, reason: Reason, words: str) -> Decision:
        return Decision(job.id, DecisionKind.QUEUE, reason, words)

    def _with_passed_over(
        self, decision: Decision, shape: Shape, reach: Reach, found: Found | None = None
    ) -> Decision:
        """The jobs that were looked at and left alone, for the first decisions of a plan (they are many)."""
        if self._explained >= _MOST_EXPLAINED:
            return decision
        self._explained += 1
        return replace(decision, passed_over=passed_over(self._universe, decision, shape, reach, found))


def _fit_to_be_shown(decision: Decision) -> Decision:
    """Names of levels and resources are in the sentence as they are: nothing in it may act on a terminal."""
    words = printable(decision.explain)
    return decision if words is decision.explain else replace(decision, explain=words)


def _reason(mode: Mode, reach: Reach, room: Room) -> Reason:
    """Which tiers the victims are of, in the words of the mode."""
    classes = [reach.class_of(runner.first, runner.second) or 0 for runner in room.price.victims]
    second = any(own_class >= SECOND_TIER + _NOTHING for own_class in classes)
    first = any(own_class < SECOND_TIER + _NOTHING for own_class in classes)
    users_first = mode in {Mode.USER, Mode.USER_THEN_TASK}
    if first and second:
        return Reason.LOWER_USER_AND_TASK if users_first else Reason.LOWER_TASK_AND_USER
    return Reason.LOWER_USER if first == users_first else Reason.LOWER_TASK

"""The decisions of one plan: what becomes of every pending job (spec 1.4, contract A).

1. Room that is being made for a job already (`promised`) is set aside first.
2. Running jobs beyond their users' quotas count as unconfigured on both axes: they are the first to yield.
3. The pending jobs are decided from the highest rank down. What one decision takes or frees, the next one
   sees; a job that stays in the queue takes nothing. Running jobs to which a method gives a turn have it among
   them, by their rank.
4. A job that is blocked, or that a quota holds, stays in the queue. One that a quota demotes is decided
   after all the others, and then counts as unconfigured: it may only use what is free.
5. Each of the others goes through the steps of the core (`CORE`) and of the methods that are on (`methods.StepTurn` has
   their order) until one of them decides it. Those of the core:
   - free room: it starts (`free_room`);
   - room that is coming: it waits for jobs that are ending, and that room is set aside (`free_room`);
   - stops: lower jobs that are neither protected nor exempt make room, on nodes where the job can run (`stopping`,
     `search`). If all of that is not enough, nobody loses anything. If a limit forbids it (`limits`), the job stays in
     the queue, takes nothing, and says so.
   Whom no step decides stays in the queue.
   A job whose nodes must all have the same one of several features goes through each step with one after the other;
   one that counts its nodes by their features, through steps of its own (`constrained`).
6. The result depends on nothing but the snapshot, and not on the order of its rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from scheduler.model import sentence
from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.plan import Decision, DecisionKind, PlanningResult
from scheduler.model.policy import OverQuota
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.free_room import free_room, room_that_is_coming, start, wait_for_endings
from scheduler.preemption.limits import Found
from scheduler.preemption.methods import Ask, Decide, Method, MethodRun, Step, StepTurn
from scheduler.preemption.multi_node_search import MadeRoom
from scheduler.preemption.node_state import RunningJob
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.pricing import FREE, Price, cost_of_runners
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.search import Placement, Wanted
from scheduler.preemption.sentences import clean, printable, wanted
from scheduler.preemption.shapes import Shape, alternatives
from scheduler.preemption.stopping import no_room, stop_lower_jobs, stop_or_not
from scheduler.preemption.trials import Places, needed
from scheduler.priority.levels import weight
from scheduler.priority.order import pending_order

# --- Jobs whose nodes depend on each other by their features: all the same (`[a|b]`), or so many of each (`[a*2&b*1]`).
# All the same: it is asked for once with each of the features. Every step tries one after the other, so free room with
# the last of them is better than room that is made with the first; where somebody has to be stopped, it is tried first
# where that costs least.
#
# So many of each: the nodes of each group are looked for by themselves, among nodes that no other group may have.
# There is room when every group has some. Looking ahead, even sets and losing a part are not tried: what is left is
# the queue.


def first_of(step: Decide, cycle: PlanningRun, asks: Sequence[Ask]) -> Decision | None:
    """What a step decides with the first of several shapes with which it does not leave the job in the queue; else why
    it does with the first."""
    queued: Decision | None = None
    for ask in _least_cost_first(cycle, asks) if step is stop_lower_jobs else asks:
        decision = step(cycle, ask)
        if decision and decision.action is not DecisionKind.QUEUE:
            return decision
        queued = queued or decision
    return queued


def _least_cost_first(cycle: PlanningRun, asks: Sequence[Ask]) -> list[Ask]:
    found = [(ask, _found(cycle, ask, ask.shape)) for ask in asks]
    losses = [
        (each.held is not None, _priced(each.room.price.victims, ask).cost, number)
        for number, (ask, each) in enumerate(found)
        if each
    ]
    return [asks[number] for _, _, number in sorted(losses)]


def in_groups(cycle: PlanningRun, ask: Ask, groups: Sequence[Shape]) -> Decision | None:
    """The steps of a job that counts its nodes by their features; None when none of them makes room."""
    if not all(method.plans_groups for method in cycle.methods):
        return None
    placement = _room(cycle, groups, coming=False)
    if placement:
        return start(cycle, ask, placement)
    placement = _room(cycle, groups, coming=True) if cycle.cluster_state.coming else None
    if placement:
        return wait_for_endings(cycle, ask, placement)
    found = [_in_group(cycle, ask, group) for group in groups]
    together = _together(cycle, ask, [each for each in found if each]) if all(found) else None
    return stop_or_not(cycle, ask, together) if together else None


def _room(cycle: PlanningRun, groups: Iterable[Shape], *, coming: bool) -> Placement | None:
    rooms = [cycle.search.room(group, coming=coming) for group in groups]
    if not all(rooms):
        return None
    names = sorted(
        chain(*[room for room in rooms if room]), key=lambda name: cycle.cluster_state.by_name[name].order
    )
    return {name: next(room[name] for room in rooms if room and name in room) for name in names}


def _in_group(cycle: PlanningRun, ask: Ask, group: Shape) -> Found | None:
    """Room for one group; nobody is asked for what is free or coming."""
    room = cycle.search.room(group, coming=True)
    if room is None:
        return _found(cycle, ask, group)
    return Found(MadeRoom(tuple([cycle.cluster_state.by_name[name] for name in room]), FREE))


def _found(cycle: PlanningRun, ask: Ask, shape: Shape) -> Found | None:
    return cycle.limits.victims(ask.job, Wanted(shape, ask.scope), cycle.cluster_state.below(ask.scope))


def _together(cycle: PlanningRun, ask: Ask, found: Sequence[Found]) -> Found | None:
    """The victims of all groups as one, without those who are not needed because others leave several nodes at once."""
    if any(each.room.price.losses for each in found):
        return None
    places = tuple(sorted(chain(*[each.room.places for each in found]), key=lambda place: place.order))
    price = _priced(chain(*[each.room.price.victims for each in found]), ask)
    trial = Places(places, ask.shape)
    for runner in price.victims:
        trial.stop(runner)
    victims = needed(trial, price.victims[::-1])
    held = next((each.held for each in found if each.held), None) or cycle.limits.over(victims)
    alone = {runner: reason for each in found for runner, reason in each.alone.items()}
    return Found(MadeRoom(places, _priced(victims, ask)), held, alone)


def _priced(victims: Iterable[RunningJob], ask: Ask) -> Price:
    return cost_of_runners(dict.fromkeys(victims), ask.shape, ask.scope)


CORE = (
    Step(StepTurn.FREE_ROOM, free_room),
    Step(StepTurn.COMING_ROOM, room_that_is_coming),
    Step(StepTurn.STOPS, stop_lower_jobs),
)

_NOTHING = weight(None)
_PENDING = JobState.PENDING


def decide_all(
    snapshot: Snapshot, methods: Sequence[Method], alone: frozenset[str] = frozenset()
) -> PlanningResult:
    """One decision per pending job, in the order in which they were made. `alone`: ids of running jobs that are not
    stopped."""
    return _Planner(snapshot, methods, alone).plan()


class _Planner:
    """One plan in the making."""

    def __init__(self, snapshot: Snapshot, methods: Sequence[Method], alone: frozenset[str]) -> None:
        self._snapshot = snapshot
        self._cycle = PlanningRun(snapshot, methods, alone)
        self._steps = self._cycle.steps(CORE)
        self._turns: dict[str, MethodRun] = {}
        """The methods by the running jobs to which they give a turn."""

    def plan(self) -> PlanningResult:
        """Points 1 to 5."""
        cycle = self._cycle
        mode = cycle.ranking.mode
        pending = [job for job in self._snapshot.jobs if job.state is _PENDING]
        for method in cycle.methods:
            running = method.running_jobs()
            pending += running
            self._turns.update((job.id, method) for job in running)
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
                decisions.extend(self._turns[job.id].decide_running(job))
            else:
                decisions.append(self._decide(job, cycle.ranking.scope(*cycle.ranking.weights(job))))
        for job in demoted:
            turn = self._turns.get(job.id)
            decisions.extend(turn.decide_running(job) if turn else [self._decide_demoted(job)])
        self._turns.clear()
        self._steps.clear()
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
        decision = self._decide(job, cycle.ranking.scope(_NOTHING, _NOTHING))
        note = sentence.say("quota.lowest", job=clean(job.id), why=over)
        return replace(decision, explain=sentence.join(decision.explain, note))

    def _decide(self, job: SnapshotJob, scope: PreemptionScope) -> Decision:
        """The steps of point 5."""
        cycle = self._cycle
        if job.request is None or not any(wanted(job).values()):
            return cycle.queued(job, Reason.BLOCKED, sentence.say("blocked.unknown", who=cycle.say.who(job)))
        requests = alternatives(job.request, self._snapshot.nodes)
        every = [Ask(job, cycle.shapes.of(request), scope) for request in requests]
        asks = [ask for ask in every if ask.shape.ever]
        if not asks:
            return cycle.queued(job, Reason.DOES_NOT_FIT_EVER, cycle.say.never(job, every[0].shape))
        ask = asks[0]
        if job.request.counted:
            return in_groups(cycle, ask, cycle.shapes.groups(job.request)) or no_room(cycle, ask)
        decision = self._by_steps(ask, asks) or no_room(cycle, ask)
        for method in cycle.methods:
            decision = method.afterwards(ask, decision)
        return decision

    def _by_steps(self, ask: Ask, asks: Sequence[Ask]) -> Decision | None:
        cycle = self._cycle
        claims = (method for method in cycle.methods if method.claims(ask.job, ask.shape))
        claimed_by = next(claims, None)
        for step in cycle.steps(CORE, claimed_by) if claimed_by else self._steps:
            decision = step.decide(cycle, ask) if len(asks) == 1 else first_of(step.decide, cycle, asks)
            if decision is not None:
                return decision
        return None


def _fit_to_be_shown(decision: Decision) -> Decision:
    """Names of levels and resources are in the sentence as they are: nothing in it may act on a terminal."""
    if decision.explain.isprintable() or not isinstance(decision.explain, sentence.Sentence):
        return decision
    return replace(decision, explain=sentence.with_names(decision.explain, printable))

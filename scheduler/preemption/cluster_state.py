"""The planner's own copy of the partition: what is free, what is coming, who runs where, what a cycle changes.

Everything that a decision takes or frees goes through `stop`, `give_up` and `take`, and what limits spare through
`spare` and `allow`; all of them note the nodes that they touch in `index`, by which everybody who keeps something about
nodes sees what to look at again. `reduced` notes the jobs, by their orders, that from then on may lose less.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import cast

from scheduler.model.jobs import JobState, Level, SnapshotJob
from scheduler.model.policy import VictimOrder
from scheduler.model.resources import Amounts, add, subtract, total
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.preemption.node_index import Changes, NodeIndex
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.ranking import PreemptionScope, Ranking
from scheduler.preemption.sparing import why_spared
from scheduler.preemption.tallies import Below, VictimTally
from scheduler.priority.levels import weight
from scheduler.priority.order import natural

# --- Which of the running tasks of one group go first: those that lose least (spec 2.5) ---
# What a task loses is the time since the last checkpoint that its present run has acknowledged, or all that it has run
# where there is none. Where the group stands among other victims does not depend on that: its tasks keep their times
# of running and of submission, and their places in the order of ids, among them; the one that loses least counts as
# the youngest and the last submitted. So nobody is stopped instead of another user's job because he saves his state
# often.


def order_by_loss(runners: list[RunningJob], now: int) -> None:
    """Deal out those anew within each group; see `RunningJob.own_ran`. `runners` stand, and stay, in their `order`."""
    groups: dict[tuple[str, int, int], list[RunningJob]] = {}
    for runner in runners:
        if runner.job.group and runner.may_go:
            groups.setdefault((runner.job.group, runner.first, runner.second), []).append(runner)
    for together in groups.values():
        first = together[0].job
        if any(each.job.saved_at is not None or each.job.submit != first.submit for each in together):
            for alike in _alike(together):
                _deal_out(alike, now)
                for runner in alike:
                    runners[runner.order] = runner


def _alike(together: Sequence[RunningJob]) -> Iterable[list[RunningJob]]:
    """Those that hold the same, wherever."""
    found: dict[tuple[tuple[str, int], ...], list[RunningJob]] = {}
    for runner in together:
        held = tuple(sorted(total(runner.alloc.values()).items()))
        found.setdefault(held, []).append(runner)
    return found.values()


def _deal_out(alike: list[RunningJob], now: int) -> None:
    ran, orders = sorted(each.ran for each in alike), sorted(each.order for each in alike)
    submitted = sorted((each.job.submit for each in alike), reverse=True)
    by_loss = sorted(alike, key=lambda each: (_loses(each, now), each.ran, each.order))
    for runner, seconds, order, moment in zip(by_loss, ran, orders, submitted, strict=True):
        runner.own_ran, runner.ran, runner.order, runner.submitted = runner.ran, seconds, order, moment


def _loses(runner: RunningJob, now: int) -> int:
    """The seconds of work that are lost when it is stopped now."""
    saved = runner.job.saved_at
    return runner.ran if saved is None else max(0, now - max(saved, runner.job.start or 0))


_NOTHING = weight(None)
_PENDING, _RUNNING = JobState.PENDING, JobState.RUNNING
"""Python looks a member of an enumeration up anew each time, which takes ten times as long as a name."""

Divide = Callable[[RunningJob, PartitionRules], bool]
"""Notes what a running job may lose and go on (`methods.Method.divide`)."""


class ClusterState:
    """All places and runners of one snapshot, and the changes that decisions make to them."""

    def __init__(
        self,
        snapshot: Snapshot,
        ranking: Ranking,
        demoted: frozenset[str] = frozenset(),
        alone: frozenset[str] = frozenset(),
        divide: Sequence[Divide] = (),
    ) -> None:
        self.snapshot = snapshot
        self.ranking = ranking
        self.coming = False
        self.places = [
            NodeState(node, order, dict(node.total), holders=int(any(node.held_elsewhere.values())))
            for order, node in enumerate(sorted(snapshot.nodes, key=lambda node: natural(node.name)))
        ]
        self.by_name = {place.node.name: place for place in self.places}
        for place in self.places:
            place.alone = (place,)
            subtract(place.free, place.node.held_elsewhere)
            if place.node.coming_elsewhere:
                self._leave(place, place.node.coming_elsewhere)
        self.runners: list[RunningJob] = []
        self.tallies: dict[tuple[int, int], VictimTally] = defaultdict(VictimTally)
        self._lower: dict[PreemptionScope, list[VictimTally]] = {}
        self.spanning: dict[tuple[int, int], list[RunningJob]] = {}
        self.in_parts: list[RunningJob] = []
        """Those who may lose a part and go on."""
        self._divide = divide
        self.candidates = 0
        held = [job for job in snapshot.jobs if job.state is not _PENDING]
        held.sort(key=lambda job: natural(job.id))
        self._settle((job for job in held if job.state is _RUNNING), demoted, alone)
        order_by_loss(self.runners, snapshot.now)
        for job in held:
            if job.state is not _RUNNING:
                self._end(job)
        self.index = NodeIndex(self.places)
        self.reduced = Changes(len(self.runners))
        by_work = snapshot.partition.victim_order is VictimOrder.LEAST_LOST_WORK
        self._scarcity = self._used_shares() if by_work else {}

    def _settle(self, jobs: Iterable[SnapshotJob], demoted: frozenset[str], alone: frozenset[str]) -> None:
        """Put the running jobs onto their nodes, in one loop: most of what it takes to set up a plan goes here."""
        now, rules, by_name = self.snapshot.now, self.snapshot.partition, self.by_name
        known: dict[tuple[Level, Level], tuple[int, int]] = {}
        add_runner = self.runners.append
        for order, job in enumerate(jobs):
            levels = job.user_level, job.task_level
            weights = (_NOTHING, _NOTHING) if job.id in demoted else known.get(levels)
            if weights is None:
                weights = known[levels] = self.ranking.weights(job)
            ran = max(0, now - (job.start or 0))
            spared = why_spared(job, ran, rules) or ("chain" if job.id in alone else "")
            may_go, alloc, ran = not spared, job.alloc, ran + job.ran_s
            runner = RunningJob(job, order, *weights, ran, spared, (), alloc, not may_go, may_go=may_go)
            add_runner(runner)
            tally = self.tallies[weights]
            places, held = [], tally.held
            for name, amounts in alloc.items():
                place = by_name[name]
                places.append(place)
                place.holders += 1
                place.runners.append(runner)
                if spared:
                    subtract(place.free, amounts)
                    continue
                here = place.stoppable
                for resource, amount in amounts.items():
                    here[resource] = here.get(resource, 0) + amount
                    held[resource] = held.get(resource, 0) + amount
            runner.places = places[0].alone if len(places) == 1 else tuple(places)
            if not may_go:
                tally.spared += 1
                continue
            tally.stoppable += 1
            if self._divide or len(places) > 1:
                self._may_go_in_parts(runner)
        for place in self.places:
            subtract(place.free, place.stoppable)
        self.candidates = sum([tally.stoppable for tally in self.tallies.values()])

    def _may_go_in_parts(self, runner: RunningJob) -> None:
        """Note a runner that may lose a part, and one whose parts are of no use alone."""
        for divide in self._divide:
            if divide(runner, self.snapshot.partition):
                self.in_parts.append(runner)
                break
        if runner.tied and len(runner.places) > 1:
            self.spanning.setdefault((runner.first, runner.second), []).append(runner)

    def _end(self, job: SnapshotJob) -> None:
        """Put an ending job onto its nodes."""
        for name, amounts in job.alloc.items():
            place = self.by_name[name]
            self._leave(place, amounts)
            place.ending.append(job)

    def _leave(self, place: NodeState, amounts: Amounts) -> None:
        """So much of a node is held by somebody who is ending."""
        subtract(place.free, amounts)
        add(place.coming, amounts)
        place.leaving = self.coming = True

    # --- Changes ------------------------------------------------------------------------------------------

    def stop(self, runner: RunningJob) -> None:
        """Stop a running job: its room is free for whoever is decided next."""
        runner.alive = runner.may_go = False
        self.candidates -= 1
        tally = self.tallies[runner.first, runner.second]
        tally.stoppable -= 1
        self.reduced.note(runner.order)
        for place, amounts in runner.parts:
            free, stoppable, held = place.free, place.stoppable, tally.held
            for name, amount in amounts.items():
                free[name] = free.get(name, 0) + amount
                stoppable[name] = stoppable.get(name, 0) - amount
                held[name] = held.get(name, 0) - amount
            place.holders -= 1
            self.index.note(place)

    def give_up(
        self, runner: RunningJob, given: Mapping[str, Amounts], left: Collection[str] = frozenset()
    ) -> None:
        """A running job gives up a part of what it holds on some nodes, and is off those that are `left`; the room is
        free for whoever is decided next. Who has left all of its nodes is stopped."""
        alloc = dict(runner.alloc)
        may_go, held = runner.may_go, self.tallies[runner.first, runner.second].held
        for name, amounts in given.items():
            place, own = self.by_name[name], cast("dict[str, int]", alloc[name])
            free, stoppable = place.free, place.stoppable
            for resource, gives in amounts.items():
                own[resource] -= gives
                free[resource] = free.get(resource, 0) + gives
                if may_go:
                    held[resource] -= gives
                    stoppable[resource] -= gives
            if name in left:
                del alloc[name]
                place.holders -= 1
                place.runners.remove(runner)
        self.index.note_all([self.by_name[name] for name in given])
        for place in runner.places:
            self.index.weights.note(place.order)
        self.reduced.note(runner.order)
        if len(alloc) < len(runner.places):
            runner.places = tuple([place for place in runner.places if place.node.name in alloc])
        runner.alloc = alloc
        if not alloc:
            self.stop(runner)

    def leave_alone(self, runner: RunningJob, why: str) -> None:
        """From now on nobody may stop a runner, nor shrink it, in this plan."""
        runner.lasting = True
        self.reduced.note(runner.order)
        if runner.may_go:
            self.spare(runner, why)
        else:
            self.index.note_all(runner.places)

    def spare(self, runner: RunningJob, why: str) -> None:
        """From now on nobody may stop a runner that may go, until `allow`."""
        self._may_go(runner, why)

    def allow(self, runner: RunningJob) -> None:
        """A runner that was spared may be stopped again."""
        self._may_go(runner, "")
        for place in runner.places:
            self.index.note_again(place)

    def _may_go(self, runner: RunningJob, why: str) -> None:
        runner.spared, runner.may_go = why, not why
        sign = -1 if why else 1
        tally = self.tallies[runner.first, runner.second]
        tally.change(runner.alloc.values(), sign)
        tally.spared -= sign
        tally.limited -= sign
        for place, amounts in runner.parts:
            (subtract if why else add)(place.stoppable, amounts)
            self.index.note(place)

    def take(self, placement: Mapping[str, Amounts], coming_first: bool) -> None:
        """Set a room aside: out of what is coming as far as possible (or not at all), then out of the free."""
        for name, amounts in placement.items():
            place = self.by_name[name]
            for resource, amount in amounts.items():
                waiting = min(amount, max(0, place.coming.get(resource, 0))) if coming_first else 0
                if waiting:
                    place.coming[resource] -= waiting
                place.free[resource] = place.free.get(resource, 0) - amount + waiting
            place.holders += 1
            self.index.note(place)

    def take_apart(self) -> None:
        """Nothing is asked any more: places and runners let go of each other."""
        for runner in self.runners:
            runner.places = ()
        for place in self.places:
            place.alone = ()

    def below(self, scope: PreemptionScope) -> Below:
        """All running jobs that a pending job outranks, together."""
        lower = self._lower.get(scope)
        if lower is None:
            lower = [tally for pair, tally in self.tallies.items() if scope.class_of(*pair) is not None]
            self._lower[scope] = lower
        return Below(lower)

    def scarcest(self, wanted: Iterable[str]) -> str:
        """Of some resources the one of which most is in use; of equals the one that there is less of; "" of none."""
        return min(wanted, key=lambda name: (*self._scarcity.get(name, (0.0, 0)), name), default="")

    def _used_shares(self) -> dict[str, tuple[float, int]]:
        up = [place for place in self.places if place.node.up]
        free = total(place.free for place in up)
        owned = total(place.node.total for place in up)
        return {name: (free.get(name, 0) / amount, amount) for name, amount in owned.items() if amount}

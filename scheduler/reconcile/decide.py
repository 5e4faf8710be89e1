"""The only door to the planner: what is under way already is taken into account, then a plan is made."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

from scheduler.model.jobs import JobState, RunKey, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import STOPPED, PlanningResult
from scheduler.model.resources import Amounts, add
from scheduler.model.sentence import say
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.planner import plan

Room = Mapping[str, Amounts]


@dataclass(frozen=True, slots=True)
class Outstanding:
    """What was issued and is not yet seen to have worked, over all partitions of a cluster.

    `beneficiaries`: room that is being made, per pending job. `victims`: runs that are being stopped for it.
    `yielded`: jobs that we stopped and hold, each with the job that it gave way to. `shrinking`: runs that are about to
    give up these nodes; one that starts again for that is a beneficiary of the nodes that it keeps. One that is
    about to start again on more nodes gives up none. `set_aside`: what runs that are about to start again
    elsewhere will have there. `starts`: those of the beneficiaries for whom nobody is stopped.
    """

    beneficiaries: Mapping[str, Room] = field(default_factory=dict)
    victims: frozenset[RunKey] = frozenset()
    yielded: Mapping[str, str] = field(default_factory=dict)
    shrinking: Mapping[RunKey, frozenset[str]] = field(default_factory=dict)
    set_aside: Room = field(default_factory=dict)
    starts: frozenset[str] = frozenset()

    def without(self, jobs: Set[str]) -> "Outstanding":
        """This without the room that is kept for these jobs."""
        kept = {job: room for job, room in self.beneficiaries.items() if job not in jobs}
        return replace(self, beneficiaries=kept, starts=self.starts - jobs)

    def plus(self, made: PlanningResult, snapshot: Snapshot) -> "Outstanding":
        """This and what a plan of the same cycle takes: the partitions decided after it see it as under
        way."""
        rooms = _rooms(made)
        victims = (victim for decision in made.decisions for victim in decision.victims)
        # Who only loses a part goes on, and its partition has had its turn.
        stopped = {victim.job for victim in victims if victim.how in STOPPED}
        runs = {job.run for job in snapshot.jobs if job.id in stopped and job.state is JobState.RUNNING}
        return replace(
            self, beneficiaries={**self.beneficiaries, **rooms}, victims=self.victims | frozenset(runs)
        )


def _rooms(made: PlanningResult) -> dict[str, Room]:
    """The room that a plan gives each pending job; of tasks that get it together each has its own part."""
    rooms = {decision.job: decision.placement for decision in made.decisions if decision.placement}
    for decision in made.decisions:
        if decision.tasks:
            node = decision.tasks[0].node
            together = sum(task.node == node for task in decision.tasks)
            part = {name: n // together for name, n in decision.placement[node].items()}
            rooms[decision.job] = {node: part}
    return rooms


NOTHING = Outstanding()


def decide(snapshot: Snapshot, outstanding: Outstanding = NOTHING) -> PlanningResult:
    """The plan for a partition, given what is under way."""
    return plan(overlay(snapshot, outstanding))


def overlay(snapshot: Snapshot, outstanding: Outstanding) -> Snapshot:
    """The snapshot with what is under way in it, so that it alone explains the plan.

    1. Runs that are being stopped count as ending: their room is coming, and they are no victims again.
    2. Pending jobs for whom room is being made keep that room and are not planned for again. Such jobs of
       other partitions have theirs on shared nodes.
    3. Jobs that gave way wait for the one they gave way to.
    4. Jobs that are about to give up some of their nodes hold the others, and nothing more is taken from them.
    """
    if outstanding == NOTHING:
        return snapshot
    concerned = {
        *(run.job_id for run in outstanding.victims),
        *outstanding.beneficiaries,
        *outstanding.yielded,
        *(run.job_id for run in outstanding.shrinking),
    }
    jobs = tuple(
        [_under_way(job, outstanding, snapshot) if job.id in concerned else job for job in snapshot.jobs]
    )
    here = {job.id for job in snapshot.jobs}
    elsewhere = {node: dict(part) for node, part in outstanding.set_aside.items()}
    for beneficiary, room in outstanding.beneficiaries.items():
        if beneficiary not in here:
            for node, part in room.items():
                add(elsewhere.setdefault(node, {}), part)
    coming: dict[str, dict[str, int]] = {}
    for job in snapshot.jobs if outstanding.shrinking else ():
        for node in outstanding.shrinking.get(job.run, ()):
            add(coming.setdefault(node, {}), job.alloc.get(node, {}))
    nodes = tuple(
        _coming(_shared(node, elsewhere.get(node.name)), coming.get(node.name)) for node in snapshot.nodes
    )
    return replace(snapshot, jobs=jobs, nodes=nodes)


def _under_way(job: SnapshotJob, outstanding: Outstanding, snapshot: Snapshot) -> SnapshotJob:
    if job.state is JobState.RUNNING and job.run in outstanding.victims:
        return replace(job, state=JobState.COMPLETING, preemptable=True, protected="")
    if job.state is JobState.RUNNING and job.run in outstanding.shrinking:
        gone = outstanding.shrinking[job.run]
        alloc = {node: held for node, held in job.alloc.items() if node not in gone}
        why = say("spared.shrinking" if gone else "spared.growing")
        return replace(job, alloc=alloc, preemptable=False, protected=why, elastic=None)
    if job.state is not JobState.PENDING:
        return job
    if job.id in outstanding.yielded:
        return replace(job, blocked=say("waits.comes_back", job=outstanding.yielded[job.id]))
    room = outstanding.beneficiaries.get(job.id)
    if room:
        known = {node.name for node in snapshot.nodes}
        promised = {node: part for node, part in room.items() if node in known}
        if not promised:
            return replace(job, blocked=say("waits.elsewhere"))
        return replace(job, promised=promised)
    return job


def _coming(node: SnapshotNode, given: Mapping[str, int] | None) -> SnapshotNode:
    if not given:
        return node
    together = dict(node.coming_elsewhere)
    add(together, given)
    return replace(node, coming_elsewhere=together)


def _shared(node: SnapshotNode, held: Mapping[str, int] | None) -> SnapshotNode:
    if not held:
        return node
    together = dict(node.held_elsewhere)
    add(together, held)
    return replace(node, held_elsewhere=together)

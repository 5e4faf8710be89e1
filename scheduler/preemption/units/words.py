"""Units and other pieces in words: who loses which, and who gets only a part of what it asked for."""

from collections.abc import Iterable, Mapping

from scheduler.model.jobs import Elastic, SnapshotJob
from scheduler.model.plan import DecidedVictim, How, Shrinking
from scheduler.model.resources import total
from scheduler.model.sentence import Held, Sentence, say
from scheduler.preemption.methods import Ask
from scheduler.preemption.node_state import RunningJob
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.pricing import Price
from scheduler.preemption.sentences import clean, free_now, listed
from scheduler.priority.order import natural


def losing(cycle: PlanningRun, runner: RunningJob, lost: Mapping[str, int]) -> Sentence:
    """`T (e, P3) gives up n1 (5 gpu)`, `B (b, P2) gives back 4 of 20 units (12 cpu)`; said before it happens."""
    pieces, who = runner.pieces, cycle.say.who(runner.job)
    if pieces is None:
        return say("loses.all", who=who)
    if runner.job.workers:
        return _losing_workers(who, runner, lost)
    given = total({r: n * count for r, n in pieces.each[node].items()} for node, count in lost.items())
    if pieces.kind is How.UNITS:
        return say("loses.units", who=who, n=sum(lost.values()), m=pieces.held, amounts=Held(given))
    code, left = "loses.nodes", {}
    if runner.job.elastic is not None and runner.job.elastic.by is Shrinking.RESTART:
        code, left = "loses.nodes.restart", {"left": pieces.held - len(lost)}
    return say(code, who=who, nodes=listed(lost, clean), amounts=Held(given), **left)


def _losing_workers(who: str, runner: RunningJob, lost: Mapping[str, int]) -> Sentence:
    """`41_[1-4] (tom, P3) gives up 1 of 4 workers: 41_3 (2 gpu)`."""
    workers = workers_lost(runner, lost)
    return say(
        "loses.workers",
        who=who,
        n=len(workers),
        m=runner.pieces.held if runner.pieces else len(runner.job.workers),
        workers=listed(workers, lambda worker: clean(worker.id), limit=5),
        amounts=Held(total(amounts for worker in workers for amounts in worker.alloc.values())),
    )


def workers_lost(runner: RunningJob, lost: Mapping[str, int]) -> list[SnapshotJob]:
    """Of an elastic job whose workers are jobs of their own those that go: on each node who loses least.

    To be asked before the loss is counted.
    """
    there = runner.pieces.counts if runner.pieces else {}
    result: list[SnapshotJob] = []
    for node in sorted(lost, key=natural):
        here = [worker for worker in runner.job.workers if node in worker.alloc]
        gone = len(here) - there.get(node, 0)
        result += here[gone : gone + lost[node]]
    return result


def needs(cycle: PlanningRun, ask: Ask, nodes: Iterable[str]) -> dict[str, str]:
    """As parameters: what a job needs, and what of it is free on some nodes, or anywhere."""
    names = list(nodes)
    return {**cycle.say.needs(ask.job), "free": free_now(ask.job, names, cycle.search.free(ask.shape, names))}


def making_room(cycle: PlanningRun, ask: Ask, nodes: Iterable[str], price: Price) -> Sentence:
    """Victims of whom some lose only a part; said before it happens."""
    lost = losses_of(price)

    def loss(runner: RunningJob) -> Sentence:
        if runner in lost:
            return losing(cycle, runner, lost[runner])
        return say("loses.run", who=cycle.say.victim(runner))

    return say("parts", **needs(cycle, ask, nodes), losses=listed(price.victims[::-1], loss, limit=5))


def rest(ask: Ask, units: int) -> str:
    """What is to be added when a request in units gets only a part."""
    if not ask.shape.units or units >= ask.shape.units:
        return ""
    return say("units.part", n=units, m=ask.shape.units)


def victim_of(runner: RunningJob, lost: Mapping[str, int]) -> DecidedVictim:
    """A running job that loses pieces and goes on, as the plan says it."""
    names = tuple(sorted(lost, key=natural) if len(lost) > 1 else lost)
    if runner.pieces and runner.pieces.kind is How.UNITS:
        on = tuple([(name, lost[name]) for name in names])
        workers = tuple(worker.id for worker in workers_lost(runner, lost)) if runner.job.workers else ()
        return DecidedVictim(runner.job.id, How.UNITS, units=sum(lost.values()), on=on, workers=workers)
    elastic = runner.job.elastic or Elastic()
    return DecidedVictim(runner.job.id, How.NODES, nodes=names, least=elastic.min_nodes or 0, by=elastic.by)


def losses_of(price: Price) -> dict[RunningJob, dict[str, int]]:
    """Who only loses pieces, how many on each node."""
    result: dict[RunningJob, dict[str, int]] = {}
    for runner, node, count in price.losses:
        mine = result.setdefault(runner, {})
        mine[node] = mine.get(node, 0) + count
    return result

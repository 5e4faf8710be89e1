"""What elastic jobs give up and get back, in words."""

from collections.abc import Iterable, Mapping

from scheduler.model import words
from scheduler.model.plan import How
from scheduler.model.resources import total
from scheduler.preemption.cycle import Ask, Cycle
from scheduler.preemption.elastic.shrinks import Losses
from scheduler.preemption.limits import Held
from scheduler.preemption.sentences import clean, free_now
from scheduler.preemption.universe import Runner


def shrunk(cycle: Cycle, ask: Ask, nodes: Iterable[str], losses: Losses) -> str:
    """Workers make room; said before they are taken."""
    lost = words.names((losing(cycle, runner, mine) for runner, mine in losses.items()), limit=5)
    return f"{_needs(cycle, ask, nodes)}. Nobody is stopped: {lost}."


def held(cycle: Cycle, ask: Ask, nodes: Iterable[str], losses: Losses, why: Held) -> str:
    """Workers would make room, but may not be taken now."""
    who = words.names((cycle.say.who(runner.job) for runner in losses), limit=5)
    limit = cycle.say.limit(ask.job, why, len(losses))
    return f"{_needs(cycle, ask, nodes)}. {who} could shrink for it, but {limit}."


def losing(cycle: Cycle, runner: Runner, lost: Mapping[str, int]) -> str:
    """`T (e, P3) gives up n1 (5 gpu)`, `T (e, P3) gives back 4 of 20 units (8 cpu)`."""
    pieces, who = runner.pieces, cycle.say.who(runner.job)
    if pieces is None:
        return f"{who} stops"
    given = total({r: n * count for r, n in pieces.each[node].items()} for node, count in lost.items())
    if pieces.kind is How.UNITS:
        return f"{who} gives back {sum(lost.values())} of {pieces.held} units ({words.amounts(given)})"
    return f"{who} gives up {words.names(map(clean, lost))} ({words.amounts(given)})"


def _needs(cycle: Cycle, ask: Ask, nodes: Iterable[str]) -> str:
    names = list(nodes)
    return f"{cycle.say.needs(ask.job)}; {free_now(ask.job, names, cycle.search.free(ask.shape, names))}"

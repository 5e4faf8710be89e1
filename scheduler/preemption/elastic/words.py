"""What elastic jobs give up and get back, in words."""

from collections.abc import Iterable

from scheduler.model.sentence import say
from scheduler.preemption.elastic.shrinks import Losses
from scheduler.preemption.limits import HeldBack
from scheduler.preemption.methods import Ask
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.sentences import listed
from scheduler.preemption.units.words import losing, needs


def shrunk(cycle: PlanningRun, ask: Ask, nodes: Iterable[str], losses: Losses) -> str:
    """Workers make room; said before they are taken."""
    lost = listed(losses, lambda runner: losing(cycle, runner, losses[runner]), limit=5)
    return say("shrink", **needs(cycle, ask, nodes), losses=lost)


def held(cycle: PlanningRun, ask: Ask, nodes: Iterable[str], losses: Losses, why: HeldBack) -> str:
    """Workers would make room, but may not be taken now."""
    who = listed(losses, lambda runner: cycle.say.who(runner.job), limit=5)
    limit = cycle.say.limit(ask.job, why, len(losses))
    return say("shrink.held", **needs(cycle, ask, nodes), victims=who, why=limit)

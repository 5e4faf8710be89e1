"""What is said of predicted starts."""

from scheduler.model import words
from scheduler.preemption.planning_run import Ask, PlanningRun
from scheduler.preemption.reservation.outlook import Later
from scheduler.preemption.sentences import clean


def soon_enough(cycle: PlanningRun, ask: Ask, later: Later, patience_s: int) -> str:
    """Nobody is stopped for it."""
    patience = words.duration(patience_s)
    return f"{cycle.say.needs(ask.job)}. {_when(cycle, later)} That is within {patience}: nobody is stopped for it."


def kept_nodes_sentence(cycle: PlanningRun, later: Later) -> str:
    """Nodes are kept for it, as a sentence that follows another one."""
    return f" {_when(cycle, later)} Until then nobody below it gets anything there."


def left_over(cycle: PlanningRun, ask: Ask, nodes: list[str]) -> str:
    """A node that somebody starts on has room for it too."""
    where = words.told(nodes, clean)
    have = "has" if len(nodes) == 1 else "have"
    return (
        f"{cycle.say.needs(ask.job)}. {where} {have} room for it beside a job that starts there in this plan; "
        "one job a plan gets a node, so it is its turn in the next one."
    )


def _when(cycle: PlanningRun, later: Later) -> str:
    """`It can start on n2 at 2023-11-14 22:18 UTC (in 5 min), when b and c are expected to have ended.`"""
    nodes = words.told(later.placement, clean)
    left = words.duration(later.at - cycle.snapshot.now)
    ending = cycle.outlook.awaited(later) if cycle.outlook else []
    jobs = words.told(ending, lambda runner: clean(runner.job.id), limit=5)
    verb = "is" if len(ending) == 1 else "are"
    until = f", when {jobs} {verb} expected to have ended" if ending else ""
    return f"It can start on {nodes} at {words.moment(later.at)} (in {left}){until}."

"""What is said of predicted starts."""

from scheduler.model.sentence import Moment, Param, Seconds, Sentence, say
from scheduler.preemption.methods import Ask
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.reservation.outlook import Later, Outlook
from scheduler.preemption.sentences import clean, listed


def soon_enough(cycle: PlanningRun, ask: Ask, later: Later, outlook: Outlook) -> Sentence:
    """Nobody is stopped for it."""
    which, when = _when(cycle, later, outlook)
    return say(f"soon{which}", **cycle.say.needs(ask.job), **when, time=Seconds(outlook.patience_s))


def kept_nodes_sentence(cycle: PlanningRun, later: Later, outlook: Outlook) -> Sentence:
    """Nodes are kept for it, as a sentence that follows another one."""
    which, when = _when(cycle, later, outlook)
    return say(f"kept{which}", **when)


def left_over(cycle: PlanningRun, ask: Ask, nodes: list[str]) -> Sentence:
    """A node that somebody starts on has room for it too."""
    code = "next_plan.one" if len(nodes) == 1 else "next_plan.many"
    return say(code, **cycle.say.needs(ask.job), nodes=listed(nodes, clean))


def _when(cycle: PlanningRun, later: Later, outlook: Outlook) -> tuple[str, dict[str, Param]]:
    """Where and when it can start, and the jobs that are expected to have ended by then; and how many these are."""
    given: dict[str, Param] = {
        "nodes": listed(later.placement, clean),
        "moment": Moment(later.at),
        "left": Seconds(later.at - cycle.snapshot.now),
    }
    ending = outlook.awaited(later)
    if not ending:
        return "", given
    given["names"] = listed(ending, lambda runner: clean(runner.job.id), limit=5)
    return (".one" if len(ending) == 1 else ".many"), given

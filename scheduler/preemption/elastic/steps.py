"""The step in which elastic jobs give up workers, before anybody is stopped (spec 4, document 003).

A job is never shrunk below its minimum, and only for one that outranks it. Pauses, waits and cool-downs hold a
shrink back like a stop; the numbers of stops within an hour do not count it.
"""

from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.reasons import Reason
from scheduler.model.sentence import say
from scheduler.preemption.elastic import words
from scheduler.preemption.elastic.shrinks import Shrinks
from scheduler.preemption.methods import Ask
from scheduler.preemption.multi_node_search import MadeRoom
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.pricing import Price
from scheduler.preemption.units.in_pieces import lose
from scheduler.preemption.units.words import victim_of


def shrink_elastic_jobs(shrinks: Shrinks, cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Workers of elastic jobs make room, and nobody is stopped."""
    found = shrinks.find(ask.shape, ask.scope)
    if found is None:
        return None
    nodes = [place.node.name for place in found.places]
    held = cycle.limits.of_the_job(ask.job)
    if held:
        cycle.about_to_get(found.places or ask.shape.places)
        decision = cycle.queued(ask.job, held.reason, words.held(cycle, ask, nodes, found.losses, held))
        return cycle.held_back(ask, decision)
    said = words.shrunk(cycle, ask, nodes, found.losses)
    victims = tuple(victim_of(runner, lost) for runner, lost in found.losses.items())
    for runner, lost in found.losses.items():
        lose(cycle.cluster_state, runner, lost)
        cycle.gave_way.add(runner.job.id)
    placement = cycle.search.placement(ask.shape, MadeRoom(found.places, Price()))
    cycle.set_aside(ask.job, placement, coming_first=True)
    return Decision(
        ask.job.id,
        DecisionKind.SHRINK,
        Reason.SHRINKS,
        said,
        nodes=tuple(placement),
        victims=victims,
        units=cycle.share(ask).units,
        placement=placement,
    )


def grows_later(cycle: PlanningRun, ask: Ask) -> Decision:
    """A worker beyond the minimum of its elastic job waits for room that is free or coming."""
    least = ask.job.elastic.min_workers if ask.job.elastic else None
    words = say("grows.later", who=cycle.say.who(ask.job), least=least or 0)
    return cycle.queued(ask.job, Reason.GROWS_LATER, words)

"""Looking again before stopping: would the plan still make the room it promises?"""

from collections.abc import Mapping

from scheduler.model.jobs import JobState, RunKey
from scheduler.model.observation import Observation
from scheduler.model.resources import Amounts, covers, subtract
from scheduler.model.words import amounts


def still_makes_room(
    observation: Observation, placement: Mapping[str, Amounts], victims: frozenset[RunKey]
) -> str:
    """Why stopping `victims` would no longer make `placement` possible, in words; empty when it still would.

    What ending jobs hold is coming free and counts as room.
    """
    nodes = {node.name: node for node in observation.nodes}
    held: dict[str, list[Amounts]] = {name: [] for name in placement}
    for job in observation.jobs:
        if job.state == JobState.RUNNING and job.run not in victims:
            for name, taken in job.alloc.items():
                if name in held:
                    held[name].append(taken)
    for name, wanted in placement.items():
        node = nodes.get(name)
        if node is None or not node.up:
            return f"Node {name} no longer takes jobs."
        free = dict(node.total)
        for taken in held[name]:
            subtract(free, taken)
        if not covers(free, wanted):
            return f"Other jobs have taken the room on {name}: {amounts(wanted)} would no longer be free."
    return ""

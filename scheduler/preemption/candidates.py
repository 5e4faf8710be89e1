"""Who may be stopped, in the order in which they go: everywhere, and node by node.

Lists are made when first asked for and kept. Those who are stopped or spared meanwhile may still be in them:
whoever goes through a list skips the runners that may not go.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from scheduler.model.resources import Amounts
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.ranking import SECOND_TIER, PreemptionScope
from scheduler.preemption.shapes import SUBMITTED

Candidate = tuple[int, int, int, int, RunningJob, Amounts]
"""A runner as a victim: class, harm, seconds run, order, itself, what it gives on the node in question."""

_NOTHING: Amounts = {}


class Candidates:
    """The candidates of one universe. `harm` is the resource that lost work is counted in, "" for running
    time."""

    def __init__(self, universe: ClusterState, is_fixed: Callable[[str], bool] | None = None) -> None:
        """`is_fixed`: as in `giving_way`; nothing: it always is."""
        self.universe = universe
        self._is_fixed = is_fixed
        self._on: dict[str, list[list[Candidate] | None]] = {}
        self._everywhere: dict[str, list[Candidate]] = {}
        self._second: dict[tuple[str, int], list[Candidate]] = {}

    def on(self, place: NodeState, harm: str) -> list[Candidate]:
        """Those on one node, as the first axis alone orders them."""
        lists = self._on.get(harm)
        if lists is None:
            lists = self._on[harm] = self._node_by_node(harm)
        known = lists[place.order]
        if known is None:
            name = place.node.name
            here = [runner for runner in place.runners if not runner.lasting]
            known = sorted([(r.first, harm_of(r, harm), r.ran, r.order, r, r.alloc[name]) for r in here])
            lists[place.order] = known
        return known

    def _node_by_node(self, harm: str) -> list[list[Candidate] | None]:
        """Those on each node: all sorted together, which takes a fraction of the time.

        Not (None) when harm is not fixed: then it counts as it is when a node is looked at.
        """
        if self._is_fixed and not self._is_fixed(harm):
            return [None] * len(self.universe.places)
        result: list[list[Candidate]] = [[] for _ in self.universe.places]
        for first, lost, ran, order, runner, _ in self.ordered(harm):
            for place, gives in zip(runner.places, runner.alloc.values(), strict=True):
                result[place.order].append((first, lost, ran, order, runner, gives))
        return list(result)

    def ordered(self, harm: str) -> list[Candidate]:
        """All of them, as the first axis alone orders them.

        Those who are stopped are the first in it, and everybody who looks goes past them: they are cleared away
        before they are many.
        """
        known = self._everywhere.get(harm)
        if known is None:
            every = [runner for runner in self.universe.runners if not runner.lasting]
            harms = harms_of(every, harm)
            pairs = zip(every, harms, strict=True)
            known = sorted([(r.first, lost, r.ran, r.order, r, _NOTHING) for r, lost in pairs])
            self._everywhere[harm] = known
        elif len(known) > 1.05 * self.universe.candidates:
            known = self._everywhere[harm] = [candidate for candidate in known if candidate[4].alive]
            self._second.clear()
        return known

    def in_reach(self, reach: PreemptionScope, harm: str) -> Iterator[Candidate]:
        """A pending job's candidates: all of its first tier, then those of its second (spec 1.4)."""
        known = self.ordered(harm)
        first = islice(known, bisect_left(known, (reach.first_floor,)))
        return chain(first, self._second_tier(reach, harm)) if reach.second_floor is not None else first

    def _second_tier(self, reach: PreemptionScope, harm: str) -> Iterator[Candidate]:
        """The second tier; worked out only when the first one has been gone through."""
        known = self._second.get((harm, reach.first))
        if known is None:
            ordered = self.ordered(harm)
            equals = islice(
                ordered, bisect_left(ordered, (reach.first,)), bisect_left(ordered, (reach.first + 1,))
            )
            known = self._second[harm, reach.first] = sorted(map(in_second_tier, equals))
        floor = SECOND_TIER + (reach.second_floor or 0)
        yield from islice(known, bisect_left(known, (floor,)))


def in_second_tier(candidate: Candidate) -> Candidate:
    """The same candidate for a pending job of equal weight on the first axis."""
    _, harm, ran, order, runner, gives = candidate
    return SECOND_TIER + runner.second, harm, ran, order, runner, gives


def harm_of(runner: RunningJob, resource: str) -> int:
    """What stopping costs: seconds run, or (for a resource) seconds run times what the job holds of it.

    Dividing by the partition's total would give the share of the resource, and the same order. For requests in
    units it is the time of submission that counts, later ones being cheaper.
    """
    if not resource:
        return runner.ran
    if resource == SUBMITTED:
        return -(runner.job.submit if runner.submitted is None else runner.submitted)
    return runner.ran * sum([amounts.get(resource, 0) for amounts in runner.alloc.values()])


def harms_of(runners: Iterable[RunningJob], resource: str) -> list[int]:
    """`harm_of` each of many runners, most often without asking it of each."""
    if not resource:
        return [runner.ran for runner in runners]
    if resource == SUBMITTED:
        return [-(r.job.submit if r.submitted is None else r.submitted) for r in runners]
    return [harm_of(runner, resource) for runner in runners]

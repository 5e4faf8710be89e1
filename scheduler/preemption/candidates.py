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
"""A runner as a victim: class, work lost, seconds run, order, itself, what it gives on the node in question."""

_NOTHING: Amounts = {}


class Candidates:
    """The candidates of one state of the cluster. `cost_in`: the resource that lost work is counted in,
    "" for running time."""

    def __init__(self, cluster_state: ClusterState, is_fixed: Callable[[str], bool] | None = None) -> None:
        """`is_fixed`: as in `giving_way`; nothing: it always is."""
        self.cluster_state = cluster_state
        self._is_fixed = is_fixed
        self._on: dict[str, list[list[Candidate] | None]] = {}
        self._everywhere: dict[str, list[Candidate]] = {}
        self._second: dict[tuple[str, int], list[Candidate]] = {}

    def on(self, place: NodeState, cost_in: str) -> list[Candidate]:
        """Those on one node, as the first axis alone orders them."""
        lists = self._on.get(cost_in)
        if lists is None:
            lists = self._on[cost_in] = self._node_by_node(cost_in)
        known = lists[place.order]
        if known is None:
            name = place.node.name
            here = [runner for runner in place.runners if not runner.lasting]
            known = sorted([(r.first, loss_of(r, cost_in), r.ran, r.order, r, r.alloc[name]) for r in here])
            lists[place.order] = known
        return known

    def _node_by_node(self, cost_in: str) -> list[list[Candidate] | None]:
        """Those on each node: all sorted together, which takes a fraction of the time.

        Not (None) when the cost is not fixed: then it counts as it is when a node is looked at.
        """
        if self._is_fixed and not self._is_fixed(cost_in):
            return [None] * len(self.cluster_state.places)
        result: list[list[Candidate]] = [[] for _ in self.cluster_state.places]
        for first, lost, ran, order, runner, _ in self.ordered(cost_in):
            if len(runner.places) == 1:  # most are; a loop takes twice as long
                (place,), (gives,) = runner.places, runner.alloc.values()
                result[place.order].append((first, lost, ran, order, runner, gives))
                continue
            for place, gives in zip(runner.places, runner.alloc.values(), strict=True):
                result[place.order].append((first, lost, ran, order, runner, gives))
        return list(result)

    def ordered(self, cost_in: str) -> list[Candidate]:
        """All of them, as the first axis alone orders them.

        Those who are stopped are the first in it, and everybody who looks goes past them: they are cleared away
        before they are many.
        """
        known = self._everywhere.get(cost_in)
        if known is None:
            every = [runner for runner in self.cluster_state.runners if not runner.lasting]
            losses = losses_of(every, cost_in)
            pairs = zip(every, losses, strict=True)
            known = sorted([(r.first, lost, r.ran, r.order, r, _NOTHING) for r, lost in pairs])
            self._everywhere[cost_in] = known
        elif len(known) > 1.05 * self.cluster_state.candidates:
            known = self._everywhere[cost_in] = [candidate for candidate in known if candidate[4].alive]
            self._second.clear()
        return known

    def in_scope(self, scope: PreemptionScope, cost_in: str) -> Iterator[Candidate]:
        """A pending job's candidates: all of its first tier, then those of its second (spec 1.4)."""
        known = self.ordered(cost_in)
        first = islice(known, bisect_left(known, (scope.first_floor,)))
        return chain(first, self._second_tier(scope, cost_in)) if scope.second_floor is not None else first

    def _second_tier(self, scope: PreemptionScope, cost_in: str) -> Iterator[Candidate]:
        """The second tier; worked out only when the first one has been gone through."""
        known = self._second.get((cost_in, scope.first))
        if known is None:
            ordered = self.ordered(cost_in)
            equals = islice(
                ordered, bisect_left(ordered, (scope.first,)), bisect_left(ordered, (scope.first + 1,))
            )
            known = self._second[cost_in, scope.first] = sorted(map(in_second_tier, equals))
        floor = SECOND_TIER + (scope.second_floor or 0)
        yield from islice(known, bisect_left(known, (floor,)))


def in_second_tier(candidate: Candidate) -> Candidate:
    """The same candidate for a pending job of equal weight on the first axis."""
    _, cost_in, ran, order, runner, gives = candidate
    return SECOND_TIER + runner.second, cost_in, ran, order, runner, gives


def loss_of(runner: RunningJob, resource: str) -> int:
    """What stopping costs: seconds run, or (for a resource) seconds run times what the job holds of it.

    Dividing by the partition's total would give the share of the resource, and the same order. For requests in
    units it is the time of submission that counts, later ones being cheaper.
    """
    if not resource:
        return runner.ran
    if resource == SUBMITTED:
        return -(runner.job.submit if runner.submitted is None else runner.submitted)
    return runner.ran * sum([amounts.get(resource, 0) for amounts in runner.alloc.values()])


def losses_of(runners: Iterable[RunningJob], resource: str) -> list[int]:
    """`loss_of` each of many runners, most often without asking it of each."""
    if not resource:
        return [runner.ran for runner in runners]
    if resource == SUBMITTED:
        return [-(r.job.submit if r.submitted is None else r.submitted) for r in runners]
    return [loss_of(runner, resource) for runner in runners]

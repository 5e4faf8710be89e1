"""Who may be stopped, in the order in which they go: everywhere, and node by node.

Lists are made when first asked for and kept. Those who are stopped or spared meanwhile may still be in them:
whoever goes through a list skips the runners that may not go.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from scheduler.model.resources import Amounts
from scheduler.preemption.ranking import SECOND_TIER, Reach
from scheduler.preemption.shapes import SUBMITTED
from scheduler.preemption.universe import Place, Runner, Universe

Candidate = tuple[int, int, int, int, Runner, Amounts]
"""A runner as a victim: class, harm, seconds run, order, itself, what it gives on the node in question."""

_Key = tuple[int, str]
_EVERYWHERE = -1
_NOTHING: Amounts = {}


class Candidates:
    """The candidates of one universe. `harm` is the resource that lost work is counted in, "" for running
    time."""

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self._first: dict[_Key, list[Candidate]] = {}
        self._second: dict[tuple[_Key, int], list[Candidate]] = {}

    def ordered(self, harm: str, place: Place | None = None) -> list[Candidate]:
        """All of them, or those on one node, as the first axis alone orders them."""
        key = (_EVERYWHERE if place is None else place.order, harm)
        known = self._first.get(key)
        if known is None:
            known = self._first[key] = sorted(self._all(harm, place))
        elif place is None and len(known) > 2 * self.universe.candidates:
            known = self._first[key] = [candidate for candidate in known if candidate[4].alive]
        return known

    def in_reach(self, reach: Reach, harm: str, place: Place | None = None) -> Iterator[Candidate]:
        """A pending job's candidates: all of its first tier, then those of its second (spec 1.4)."""
        known = self.ordered(harm, place)
        first = islice(known, bisect_left(known, (reach.first_floor,)))
        return (
            chain(first, self._second_tier(reach, harm, place)) if reach.second_floor is not None else first
        )

    def _all(self, harm: str, place: Place | None) -> Iterable[Candidate]:
        if place is None:
            every = (runner for runner in self.universe.runners if not runner.lasting)
            return [(r.first, harm_of(r, harm), r.ran, r.order, r, _NOTHING) for r in every]
        name = place.node.name
        here = (runner for runner in place.runners if not runner.lasting)
        return [(r.first, harm_of(r, harm), r.ran, r.order, r, r.alloc[name]) for r in here]

    def _second_tier(self, reach: Reach, harm: str, place: Place | None) -> Iterator[Candidate]:
        """The second tier; worked out only when the first one has been gone through."""
        key = ((_EVERYWHERE if place is None else place.order, harm), reach.first)
        known = self._second.get(key)
        if known is None:
            ordered = self.ordered(harm, place)
            equals = islice(
                ordered, bisect_left(ordered, (reach.first,)), bisect_left(ordered, (reach.first + 1,))
            )
            known = self._second[key] = sorted((SECOND_TIER + c[4].second, *c[1:]) for c in equals)
        floor = SECOND_TIER + (reach.second_floor or 0)
        yield from islice(known, bisect_left(known, (floor,)))


def harm_of(runner: Runner, resource: str) -> int:
    """What stopping costs: seconds run, or (for a resource) seconds run times what the job holds of it.

    Dividing by the partition's total would give the share of the resource, and the same order. For requests in
    units it is the time of submission that counts, later ones being cheaper.
    """
    if not resource:
        return runner.ran
    if resource == SUBMITTED:
        return -runner.job.submit
    return runner.ran * sum(amounts.get(resource, 0) for _, amounts in runner.parts)

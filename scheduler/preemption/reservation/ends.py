"""When running jobs are expected to end, and what they release then."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Set

from scheduler.model.resources import Amounts
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState, RunningJob

SHORTEST_RENEWAL = 60

End = tuple[int, int, RunningJob]
"""When a running job is expected to end, its order, and who it is."""

Releases = Sequence[tuple[int, int, Amounts]]
"""When, by the running job of which order, and what; the first to come first."""


def expected_end(runner: RunningJob, now: int) -> int | None:
    """The epoch second at which a running job is expected to end; None when nobody knows.

    A job that has passed its prediction gets a new one: as long again as it is overdue, at least a minute. So a job
    that is a little late is expected soon, and one that is hours late counts for less and less.
    """
    end = runner.job.predicted_end
    if end is None or end > now:
        return end
    return now + max(SHORTEST_RENEWAL, now - end)


class Ends:
    """The expected ends of the cluster's running jobs."""

    def __init__(self, cluster_state: ClusterState, forgotten: Set[int]) -> None:
        """`forgotten`: nodes of which nobody gets anything any more."""
        now = cluster_state.snapshot.now
        self._cluster_state = cluster_state
        self._forgotten = forgotten
        self._cleared = len(cluster_state.places)
        self._ends = [expected_end(runner, now) for runner in cluster_state.runners]
        known = [(end, order) for order, end in enumerate(self._ends) if end is not None]
        known.sort()
        self._sorted = known
        self._unending = [
            runner for runner, end in zip(cluster_state.runners, self._ends, strict=True) if end is None
        ]
        self._lines: dict[int | None, list[End]] = {}

    def of(self, runner: RunningJob) -> int | None:
        """When a running job ends; None when nobody knows."""
        return self._ends[runner.order]

    def on(self, place: NodeState) -> list[End]:
        """Who on a node ends and when; those of unknown end are left out, those who are stopped may be among them."""
        return self._known(place.runners)

    def releases(self, place: NodeState) -> Releases:
        """What is released on a node."""
        ends, name = self._ends, place.node.name
        releases = [
            (end, runner.order, runner.alloc[name])
            for runner in place.runners
            if (end := ends[runner.order]) is not None and runner.alive
        ]
        releases.sort()
        return releases

    def timeline(self, own: Set[int], by: int | None) -> Iterator[tuple[int, NodeState, Amounts]]:
        """What is released on some nodes (by their indices), the first to come first; `by`: no later than that."""
        many = by is not None or 4 * len(own) > len(self._cluster_state.places) - len(self._forgotten)
        for end, _, runner in self._line(by) if many else self._line_of(own):
            if runner.alive:
                for place in runner.places:
                    if place.order in own:
                        yield end, place, runner.alloc[place.node.name]

    def places(self, by: int) -> set[int]:
        """The nodes on which something is released by a moment."""
        return {place.order for runner in self._by(by) for place in runner.places}

    def add_released(self, amounts: list[int], name: str, by: int | None) -> None:
        """Add to the amounts of all nodes what is released of a resource in the end, or by a moment."""
        if by is not None:
            _add_held(amounts, name, self._by(by), 1)
            return
        # Most running jobs may be stopped, and will end: what all who may be stopped hold is known of each node.
        for place in self._cluster_state.places:
            amounts[place.order] += place.stoppable.get(name, 0)
        _add_held(amounts, name, [runner for runner in self._unending if runner.may_go], -1)
        spared = [runner for runner in self._cluster_state.runners if runner.alive and not runner.may_go]
        _add_held(amounts, name, [runner for runner in spared if self.of(runner) is not None], 1)

    def _by(self, by: int) -> list[RunningJob]:
        """Who ends by a moment."""
        runners = self._cluster_state.runners
        ending = [runners[order] for _, order in self._sorted[: bisect_right(self._sorted, (by, math.inf))]]
        return [runner for runner in ending if runner.alive]

    def _line(self, by: int | None) -> list[End]:
        """All running jobs by their ends, or those that end by a moment; those whose nodes are all forgotten drop out
        from time to time."""
        line = self._lines.get(by)
        if line is None:
            runners, until = self._cluster_state.runners, math.inf if by is None else by
            ending = self._sorted[: bisect_right(self._sorted, (until, math.inf))]
            line = [(end, order, runners[order]) for end, order in ending if self._concerns(runners[order])]
            self._lines[by] = line
        left = len(self._cluster_state.places) - len(self._forgotten)
        if by is None and 2 * left < self._cleared:
            self._cleared = left
            line = self._lines[by] = [end for end in line if self._concerns(end[2])]
        return line

    def _concerns(self, runner: RunningJob) -> bool:
        """Whether anybody may still get anything of what a running job holds."""
        if runner.alive:
            for place in runner.places:
                if place.order not in self._forgotten:
                    return True
        return False

    def _line_of(self, own: Set[int]) -> list[End]:
        """The same for a few nodes."""
        places = self._cluster_state.places
        return sorted({end for order in own for end in self.on(places[order])})

    def _known(self, runners: Iterable[RunningJob]) -> list[End]:
        ends = self._ends
        return [(end, runner.order, runner) for runner in runners if (end := ends[runner.order]) is not None]


def _add_held(amounts: list[int], name: str, runners: Iterable[RunningJob], sign: int) -> None:
    """Add what running jobs hold of a resource to the amounts of their nodes."""
    for runner in runners:
        for place, gives in zip(runner.places, runner.alloc.values(), strict=True):
            amounts[place.order] += sign * gives.get(name, 0)

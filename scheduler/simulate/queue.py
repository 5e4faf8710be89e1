"""Who waits: in order, and grouped by what they ask for: those who ask for the same fit or do not fit together."""

from bisect import bisect_left, insort
from heapq import heappop, heappush

from scheduler.simulate.tasks import Pair, SimulatedTask

Ask = tuple[int, int]
"""What is wanted on a node (packed), and how many nodes."""
GroupKey = tuple[Pair, Ask]
Entry = tuple[tuple[int, ...], SimulatedTask]


class WaitingTasks:
    """The jobs that wait. `groups`: by weights and ask, each in the order in which they may pass; none is empty."""

    def __init__(self) -> None:
        self.groups: dict[GroupKey, list[Entry]] = {}
        self._order: list[Entry] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def push(self, task: SimulatedTask, now: int) -> None:
        """A job begins to wait."""
        task.queued, task.queued_at = True, now
        self._count += 1
        insort(self.groups.setdefault(_group(task), []), (task.turn, task))
        heappush(self._order, (task.key, task))

    def remove(self, task: SimulatedTask) -> None:
        """A job waits no longer."""
        task.queued = False
        self._count -= 1
        group = self.groups[_group(task)]
        del group[bisect_left(group, (task.turn,))]
        if not group:
            del self.groups[_group(task)]

    def head(self) -> SimulatedTask | None:
        """The first in order."""
        order = self._order
        while order and not order[0][1].queued:
            heappop(order)
        return order[0][1] if order else None


def _group(task: SimulatedTask) -> GroupKey:
    return task.pair, (task.work.wants, task.work.nodes)

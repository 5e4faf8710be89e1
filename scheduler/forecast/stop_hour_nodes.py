"""One drawn hour of a partition, node by node.

As the hour in one pool (`stop_hour`), but who waits wants so many units on each of so many nodes: eight units that are
free on eight nodes are no room for who wants a whole node. Who fits starts where the least is left over; for who does
not, nodes are taken one after the other, the cheapest first (`stop_rooms`).
"""

from bisect import insort
from collections.abc import Sequence
from heapq import heappop, heappush

from scheduler.forecast.stop_hour import MANY, Beginning, StopHour
from scheduler.forecast.stop_picture import Arrival, RiskPicture
from scheduler.forecast.stop_rooms import Held, NodeRooms

Line = tuple[int, int, int, list[int]]
"""Units on a node, nodes, the rank, and who waits for that."""


class NodeBeginning(Beginning):
    """What the hours of all draws of one picture begin with, on its nodes."""

    def __init__(self, picture: RiskPicture) -> None:
        super().__init__(picture)
        self.rooms = NodeRooms(picture)
        for number, job in enumerate(picture.running):
            if job.safe_s == 0:
                self.rooms.endanger(number, job.rank, job.ran_s)


class NodeHour(StopHour):
    """The hour of one draw."""

    def __init__(
        self, beginning: NodeBeginning, lefts: Sequence[int], lasts: Sequence[int], coming: Sequence[Arrival]
    ) -> None:
        super().__init__(beginning, lefts, lasts, coming)
        picture = beginning.picture
        self._rooms = beginning.rooms.fork()
        jobs = [*(len(job.on) for job in picture.running), *(job.nodes for job in picture.waiting)]
        self._nodes = [max(1, nodes) for nodes in (*jobs, *(each.nodes for each in coming))]
        self._kinds: dict[tuple[int, int, int], list[int]] = {}
        self._in_line: list[Line] = []
        for number in range(self._running, self._running + len(lasts)):
            self._wait(number)

    def _share(self, number: int) -> int:
        return -(-self._units[number] // self._nodes[number])

    def _endanger(self, number: int) -> None:
        self._rooms.endanger(number, self._ranks[number], self._ran_before(number))
        super()._endanger(number)

    def _leave(self, number: int) -> bool:
        spared = super()._leave(number)
        if spared:
            self._rooms.spare(number, self._ranks[number], self._ran_before(number))
        self._rooms.leave(number)
        return spared

    def _wait(self, number: int) -> None:
        kind = self._share(number), self._nodes[number], self._ranks[number]
        line = self._kinds.get(kind)
        if line is None:
            line = self._kinds[kind] = []
            insort(self._in_line, (*kind, line), key=_kind)
        heappush(line, self._beginning.turn(kind[2], number))

    def _start(self, now: int) -> None:
        """Who fits, in turn."""
        while True:
            first: Line | None = None
            for each in self._in_line:
                share, nodes, _, line = each
                if (
                    line
                    and (first is None or line[0] < first[3][0])
                    and share * nodes <= self._free
                    and self._rooms.fits(share, nodes)
                ):
                    first = each
            if first is None:
                return
            share, nodes, _, line = first
            self._place(line, self._rooms.tightest(share, nodes), now)

    def _place(self, line: list[int], nodes: Sequence[int], now: int) -> None:
        number = heappop(line) % MANY
        self._rooms.take(number, nodes, self._share(number))
        self._begin(number, now)

    def _make_room(self, now: int) -> None:
        waits = [(-rank, line[0], share, nodes, line) for share, nodes, rank, line in self._in_line if line]
        for lower, _, share, nodes, line in sorted(waits):
            while line and self._may_reach(share, nodes, -lower):
                for number in self._to_stop(-lower, share, nodes):
                    self._stop(number, now)
                self._place(line, self._rooms.tightest(share, nodes), now)

    def _to_stop(self, rank: int, share: int, nodes: int) -> list[int]:
        """Whom room on so many nodes costs; they hold nothing there any more."""
        rooms = self._rooms
        taken: set[int] = set()
        gone: dict[int, Held] = {}
        while len(taken) < nodes:
            node, victims = rooms.cheapest((rank, share), taken)
            taken.add(node)
            for number in victims:
                gone[number] = rooms.remove(number, self._ranks[number], self._ran_before(number))
        if nodes > 1:
            # Who holds several nodes may have made others needless, who were taken before; the most valuable first.
            for number in sorted(gone, key=self._worth, reverse=True):
                if rooms.fits_beside(gone[number], share, nodes):
                    rooms.put_back(number, gone.pop(number), self._ranks[number], self._ran_before(number))
        return list(gone)

    def _worth(self, number: int) -> tuple[int, int, int]:
        """The larger is stopped later."""
        return self._ranks[number], self._ran_before(number), number

    def _ran_before(self, number: int) -> int:
        """How long it had run at the beginning of the hour, if it has run since."""
        return self._ran_s[number] - self._started[number]

    def _may_reach(self, share: int, nodes: int, rank: int) -> bool:
        """Whether there are nodes enough, with those stopped whom a rank may have stopped."""
        return share * nodes <= self._reach(rank) and self._rooms.reach((rank, share)) >= nodes


def _kind(line: Line) -> tuple[int, int, int]:
    return line[:3]

"""Starting jobs in room that is free: in order, and (EASY) past the first one that does not fit.

1. Jobs start in order as long as the first of the queue fits.
2. The first that does not fit is the head. It gets a reservation: the earliest moment at which, as far as ends are
   expected, enough nodes have room for it.
3. Others may pass: those expected to end by then, anywhere; the rest where the head still has its nodes at that moment.
4. The reservation is kept until the head changes, something ends before it was expected, or an expected end
   passes. Jobs that arrive meanwhile are only compared with it: what did not fit before fits no better now.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from scheduler.simulate.machine import Entry, Machine, SimulatedTask, WaitingTasks
from scheduler.simulate.room import FreeRoom

_Candidate = tuple[tuple[int, ...], int, list[Entry]]
"""Whose turn it is, where in which list."""


@dataclass(frozen=True, slots=True)
class EasyReservation:
    """Room is kept for `head` from `at` on. `later`: what will be free then, as far as is known, without the head."""

    head: SimulatedTask
    at: int
    later: FreeRoom

    def allowed(self, room: FreeRoom, fitting: int, wants: int) -> int:
        """Of the nodes where a job fits now, those where it may stay beyond `at`.

        Which nodes are kept is chosen anew each time: first those that are of least use now.
        """
        head = self.head.work
        kept = room.pick(self.later.fitting(head.wants), head.nodes)
        return fitting & (~kept | self.later.fitting(head.wants + wants))


class Starter:
    """Starts jobs of one queue on one machine. `passing`: whether anybody may pass the head."""

    def __init__(self, machine: Machine, queue: WaitingTasks, *, passing: bool) -> None:
        self._machine = machine
        self._queue = queue
        self._passing = passing
        self.reservation: EasyReservation | None = None

    def start(
        self, now: int, arrived: Iterable[SimulatedTask] | None = None, until: tuple[int, ...] | None = None
    ) -> None:
        """Start whoever may. `arrived`: when nothing but these arrivals happened since the last time.

        `until`: only those whose key is below this.
        """
        machine = self._machine
        if arrived is not None and self._stands(now):
            self._pass_one_by_one(now, arrived)
            return
        head = self._start_in_order(now, until)
        if head is None or not self._passing:
            self.reservation = None
            return
        late = machine.put_off(now)
        if self._is_outdated(head, now, late=late):
            self.reservation = self._reserve(head)
            machine.early = False
        self._pass(now, until)

    def _stands(self, now: int) -> bool:
        """Whether the reservation holds and arrivals have only to be compared with it."""
        kept = self.reservation
        if kept is None or self._queue.head() is not kept.head or self._machine.early or kept.at <= now:
            return False
        running = self._machine.running
        return bool(running) and running[0][0] > now

    def _is_outdated(self, head: SimulatedTask, now: int, *, late: bool) -> bool:
        kept = self.reservation
        return kept is None or kept.head is not head or late or self._machine.early or kept.at <= now

    def _start_in_order(self, now: int, until: tuple[int, ...] | None) -> SimulatedTask | None:
        """Step 1; the head."""
        room = self._machine.room
        while (head := self._queue.head()) is not None and (until is None or head.key < until):
            fitting = room.fitting(head.work.wants)
            if fitting.bit_count() < head.work.nodes:
                return head
            self._start(head, room.pick(fitting, head.work.nodes), now)
        return None

    def _start(self, task: SimulatedTask, nodes: int, now: int) -> None:
        self._queue.remove(task)
        self._machine.start(task, nodes, now)

    def _reserve(self, head: SimulatedTask) -> EasyReservation:
        """Step 2. There is such a moment: when all have ended, the head fits."""
        wants, count = head.work.wants, head.work.nodes
        later = self._machine.room.copy()
        at, fitting = 0, 0
        for expected_end, _, task in self._machine.running:
            if expected_end > at and fitting.bit_count() >= count:
                break
            at = expected_end
            later.shift(task.nodes, task.holds)
            fitting = later.fitting(wants)
        return EasyReservation(head, at, later)

    def _pass(self, now: int, until: tuple[int, ...] | None) -> None:
        """Step 3, in the order of turns; a group whose next one does not fit is done with."""
        room = self._machine.room
        counts: dict[int, int] = {}
        heap: list[_Candidate] = []
        for (_, (wants, count)), group in self._queue.groups.items():
            if wants not in counts:
                counts[wants] = room.fitting(wants).bit_count()
            if counts[wants] >= count:
                heap.append((group[0][0], 0, group))
        heapify(heap)
        while heap:
            _, at, group = heappop(heap)
            following = at + 1 if until and group[at][1].key >= until else self._try(group, at, now)
            if following < len(group):
                heappush(heap, (group[following][0], following, group))

    def _try(self, group: list[Entry], at: int, now: int) -> int:
        """Start the job at a place of a group if it may pass; whose turn is next in the group."""
        task, kept = group[at][1], self.reservation
        wants, count = task.work.wants, task.work.nodes
        fitting = self._machine.room.fitting(wants)
        if kept is None or fitting.bit_count() < count:
            return len(group)
        if task is kept.head:
            return at + 1
        if self._start_beside(kept, task, fitting, now):
            return at
        # Too long for the reservation, and so are all that ask the same and do not end in time.
        at += 1
        while at < len(group) and self._machine.expects_end(group[at][1], now) > kept.at:
            at += 1
        return at

    def _pass_one_by_one(self, now: int, arrived: Iterable[SimulatedTask]) -> None:
        """Step 4."""
        kept = self.reservation
        for task in sorted(arrived, key=lambda task: task.turn):
            fitting = self._machine.room.fitting(task.work.wants)
            if kept is not None and fitting.bit_count() >= task.work.nodes:
                self._start_beside(kept, task, fitting, now)

    def _start_beside(self, kept: EasyReservation, task: SimulatedTask, fitting: int, now: int) -> bool:
        """Start a job that fits on these nodes if that does not delay the head; whether it did."""
        wants, count = task.work.wants, task.work.nodes
        if self._machine.expects_end(task, now) <= kept.at:
            self._start(task, self._machine.room.pick(fitting, count), now)
            return True
        allowed = kept.allowed(self._machine.room, fitting, wants)
        if allowed.bit_count() < count:
            return False
        nodes = self._machine.room.pick(allowed, count)
        self._start(task, nodes, now)
        kept.later.shift(nodes, -wants)
        return True

"""The nodes of one draw: what is free, who fits where, and when what is held comes free.

For every kind of request the nodes where it fits are kept up to date, as shares of nodes are taken and given back. When
a node comes free for a kind is worked out when it is asked for, and then again for nodes that have changed only.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scheduler.forecast.draws import Places
from scheduler.forecast.history import Floats

Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]


class Nodes:
    """What all draws begin with. Axes: resources first, then kinds, nodes, slots (a share that is held has one)."""

    def __init__(
        self,
        free: Sequence[tuple[int, ...]],
        amounts: Sequence[tuple[int, ...]],
        among: Sequence[frozenset[int] | None],
    ) -> None:
        """`amounts`, `among`: what each kind wants on a node, and which nodes it may use (None: all)."""
        self.free = np.array(free, np.int64).reshape(len(free), -1).T.copy()
        self.amounts = np.array(amounts, np.int64).reshape(len(amounts), -1).T.copy()
        self.among = np.ones((len(among), len(free)), np.bool_)
        for kind, nodes in enumerate(among):
            if nodes is not None:
                self.among[kind] = False
                self.among[kind, list(nodes)] = True
        self.fits = self.among & (self.free[:, None] >= self.amounts[:, :, None]).all(axis=0)
        self.shares = (np.zeros(0, np.int64),) * 3
        self.holds = np.zeros((len(self.free), len(free), 1), np.int64)

    def hold(self, nodes: Sequence[tuple[int, ...]], holds: Sequence[tuple[int, ...]]) -> None:
        """Running jobs, each with so much on each of its nodes."""
        jobs = np.repeat(np.arange(len(nodes)), [len(each) for each in nodes])
        at = np.array([node for each in nodes for node in each], np.int64)
        order = np.argsort(at, kind="stable")
        first = np.searchsorted(at[order], at[order])
        slots = np.empty(len(at), np.int64)
        slots[order] = np.arange(len(at)) - first
        self.shares = jobs, at, slots
        self.holds = np.zeros((len(self.free), self.free.shape[1], int(slots.max(initial=0)) + 1), np.int64)
        if len(at):
            self.holds[:, at, slots] = np.array(holds, np.int64).T[:, jobs]


class NodesAhead:
    """Changes as a draw is played. `fits`: by kind and node; `counts`: by kind, how many nodes."""

    def __init__(self, nodes: Nodes, moments: Floats, ends: Places, planned: Floats) -> None:
        """`ends`: of each running job, a moment; `planned`: seconds."""
        self._nodes, self._moments = nodes, moments
        self.count = nodes.free.shape[1]
        self._free, self.fits = nodes.free.copy(), nodes.fits.copy()
        self.counts: Counts = self.fits.sum(axis=1)
        self._holds = nodes.holds.copy()
        jobs, at, slots = nodes.shares
        self._ends = np.full(self._holds.shape[1:], np.inf)
        self._planned = self._ends.copy()
        self._ends[at, slots] = moments[ends[jobs]]
        self._planned[at, slots] = planned[jobs]
        order = np.argsort(ends[jobs], kind="stable")
        self._first = np.searchsorted(ends[jobs][order], np.arange(len(moments) + 1))
        self._at, self._slots = at[order], slots[order]
        self._started: dict[int, list[tuple[Places, Places]]] = {}
        self._changed: list[Places] = []
        self._when: dict[tuple[bool, int], tuple[int, Floats]] = {}

    def release(self, moment: int) -> bool:
        """What ends then is given back; whether anything does. True at the first moment."""
        part = slice(self._first[moment], self._first[moment + 1])
        ended = [(self._at[part], self._slots[part]), *self._started.pop(moment, ())]
        nodes = np.concatenate([at for at, _ in ended])
        if not len(nodes):
            return moment == 0
        slots = np.concatenate([slots for _, slots in ended])
        for room, holds in zip(self._free, self._holds, strict=True):
            np.add.at(room, nodes, holds[nodes, slots])
        self._holds[:, nodes, slots] = 0
        self._ends[nodes, slots] = self._planned[nodes, slots] = np.inf
        self._note(np.unique(nodes))
        return True

    def take(self, nodes: Places, kind: int, end: int, planned: float) -> None:
        """A request of a kind starts on these nodes and ends at a moment; the scheduler counts on `planned`."""
        slots = self._empty(nodes)
        self._ends[nodes, slots], self._planned[nodes, slots] = self._moments[end], planned
        amounts = self._nodes.amounts[:, kind, None]
        self._holds[:, nodes, slots] = amounts
        self._free[:, nodes] -= amounts
        self._started.setdefault(end, []).append((nodes, slots))
        self._note(nodes)

    def tightest(self, nodes: Places, need: int) -> Places:
        """So many of some nodes, those with the least left first."""
        return nodes[np.argsort(self._free[-1, nodes], kind="stable")[:need]]

    def fitting_by_level(self, levels_of: Floats, levels: Sequence[float]) -> Counts:
        """By level and kind, on how many of the nodes of that level it fits."""
        return np.stack([self.fits[:, np.flatnonzero(levels_of == level)].sum(axis=1) for level in levels])

    def free_at(self, kind: int) -> Floats:
        """When each node has room for a kind, in seconds: 0 where it has now, inf where it never has."""
        return self._looked_up(self._ends, kind, planned=False)

    def planned_at(self, kind: int) -> Floats:
        """The same, by what the scheduler counts on."""
        return self._looked_up(self._planned, kind, planned=True)

    def _looked_up(self, ends: Floats, kind: int, *, planned: bool) -> Floats:
        seen, when = self._when.get((planned, kind), (-1, np.zeros(0)))
        if seen < 0:
            when = self._comes_free(np.arange(self.count), kind, ends)
        elif seen < len(self._changed):
            nodes = np.unique(np.concatenate(self._changed[seen:]))
            when[nodes] = self._comes_free(nodes, kind, ends)
        self._when[planned, kind] = len(self._changed), when
        return when

    def _comes_free(self, nodes: Places, kind: int, ends: Floats) -> Floats:
        theirs = ends[nodes]
        order = np.argsort(theirs, axis=1, kind="stable")
        fits = np.ones((len(nodes), order.shape[1] + 1), np.bool_)
        for room, holds, amounts in zip(self._free, self._holds, self._nodes.amounts, strict=True):
            given = np.take_along_axis(holds[nodes], order, axis=1).cumsum(axis=1)
            fits &= np.column_stack([room[nodes], room[nodes, None] + given]) >= amounts[kind]
        first = fits.argmax(axis=1)
        rows = np.arange(len(nodes))
        times = np.column_stack([np.zeros(len(nodes)), np.take_along_axis(theirs, order, axis=1)])
        return np.where(fits[rows, first] & self._nodes.among[kind, nodes], times[rows, first], np.inf)

    def _empty(self, nodes: Places) -> Places:
        """A slot of each node that nobody has."""
        empty = np.isinf(self._ends[nodes])
        if not empty.any(axis=1).all():
            more = self._ends.shape[1]
            self._ends, self._planned = (
                np.pad(each, ((0, 0), (0, more)), constant_values=np.inf)
                for each in (self._ends, self._planned)
            )
            self._holds = np.pad(self._holds, ((0, 0), (0, 0), (0, more)))
            empty = np.isinf(self._ends[nodes])
        return np.asarray(empty.argmax(axis=1))

    def _note(self, nodes: Places) -> None:
        """What is free on these nodes has changed."""
        self._changed.append(nodes)
        wants = self._nodes.amounts[:, :, None]
        fits = self._nodes.among[:, nodes] & (self._free[:, None, nodes] >= wants).all(axis=0)
        self.counts += fits.sum(axis=1) - self.fits[:, nodes].sum(axis=1)
        self.fits[:, nodes] = fits

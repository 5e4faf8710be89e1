"""What is free on every node at every moment to come, in many draws at once.

For every different want, the number of nodes that have room for it at each moment is kept up to date: so finding the
moments that may be right costs the same however many nodes there are, and single nodes are looked at there only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.forecast.draws import Places, TimeLine
from scheduler.forecast.history import Floats

MORE = 32
"""So many nodes beyond those needed are looked at first."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Want:
    """So many nodes with so much on each, among some (None: all)."""

    nodes: int
    amounts: tuple[int, ...]
    among: frozenset[int] | None = None


class RoomAhead:
    """The draws of one forecast. Axes: resources, draws, moments, nodes."""

    def __init__(
        self, free: Sequence[tuple[int, ...]], wants: Sequence[Want], line: TimeLine, draws: int
    ) -> None:
        self._line = line
        now = np.array(free, np.int32).reshape(len(free), -1).T
        self._free = np.zeros((len(now), draws, len(line), len(free)), np.int32)
        self._free[:, :, 0] = now[:, None]
        self._wants = wants
        self._kinds: dict[tuple[tuple[int, ...], frozenset[int] | None], int] = {}
        for want in wants:
            self._kinds.setdefault((want.amounts, want.among), len(self._kinds))
        self._amounts = np.array([amounts for amounts, _ in self._kinds], np.int32).T
        self._among = np.ones((len(self._kinds), len(free)), np.bool_)
        for (_, among), kind in self._kinds.items():
            if among is not None:
                self._among[kind] = False
                self._among[kind, list(among)] = True
        self._counts = np.zeros((0, draws, len(line)), np.int32)

    def release(
        self, nodes: Sequence[tuple[int, ...]], holds: Sequence[tuple[int, ...]], ends: Places
    ) -> None:
        """Running jobs give back what they hold on each of their nodes; `ends` (jobs, draws) are moments."""
        draws = self._free.shape[1]
        jobs = np.repeat(np.arange(len(nodes)), [len(each) for each in nodes])
        at = np.array([node for each in nodes for node in each], np.int64)
        for resource, room in enumerate(self._free):
            amounts = np.array([hold[resource] for hold in holds], np.int32)[jobs] if len(jobs) else jobs
            for draw in range(draws):
                np.add.at(room[draw], (ends[jobs, draw], at), amounts)
            np.cumsum(room, axis=1, out=room)
        self._counts = np.stack([self._count(kind) for kind in range(len(self._kinds))])

    def put(
        self, row: int, after_s: float, run_s: Floats, chances: Floats, *, takes: bool = True
    ) -> tuple[Floats, list[tuple[int, ...]]]:
        """Place the job of the want `row` in all draws: its starts in seconds (inf where none), and its nodes.

        One that is only tried (`takes` is false) leaves the room to those who come after it.
        """
        want = self._wants[row]
        kind = self._kinds[want.amounts, want.among]
        moments = self._line.moments
        ends = self._line.place(moments[None] + run_s[:, None], np.repeat(chances[:, None], len(moments), 1))
        may = self._through(self._counts[kind] >= want.nodes, ends) & (moments >= after_s)
        starts = np.full(len(run_s), np.inf)
        where: list[tuple[int, ...]] = [()] * len(run_s)
        for draw in range(len(run_s)):
            # Each moment has enough nodes, though perhaps not the same ones: then the next one.
            at = int(may[draw].argmax())
            while at < len(moments) and may[draw, at]:
                end = max(int(ends[draw, at]), at)
                chosen = self._choose(want, kind, draw, at, max(end, at + 1))
                if len(chosen) == want.nodes:
                    if takes:
                        self._take(draw, at, end, chosen, want.amounts)
                    starts[draw], where[draw] = moments[at], tuple(chosen.tolist())
                    break
                later = may[draw, at + 1 :]
                at = at + 1 + int(later.argmax()) if later.any() else len(moments)
        return starts, where

    def _count(self, kind: int) -> NDArray[np.int32]:
        fits = np.broadcast_to(self._among[kind], self._free.shape[1:]).copy()
        for room, amount in zip(self._free, self._amounts[:, kind], strict=True):
            fits &= room >= amount
        return np.asarray(fits.sum(axis=2, dtype=np.int32))

    def _through(self, fits: Bools, ends: Places) -> Bools:
        """From which moments on there is room up to the end."""
        count = fits.shape[1]
        bad = np.where(fits, count, np.arange(count))
        next_bad = np.minimum.accumulate(bad[:, ::-1], axis=1)[:, ::-1]
        return np.asarray((next_bad >= ends) & fits)

    def _choose(self, want: Want, kind: int, draw: int, at: int, end: int) -> Places:
        """The nodes with room for a want from one moment to another, those with the least left first; too few if so."""
        now = self._free[:, draw, at]
        fits = self._among[kind].copy()
        for room, amount in zip(now, want.amounts, strict=True):
            fits &= room >= amount
        among = np.flatnonzero(fits)
        among = among[np.argsort(now[-1, among], kind="stable")]
        good = np.zeros(0, np.int64)
        first, size = 0, want.nodes + MORE
        while len(good) < want.nodes and first < len(among):
            part = among[first : first + size]
            lasting = np.ones(len(part), np.bool_)
            for room, amount in zip(self._free[:, draw, at:end], want.amounts, strict=True):
                lasting &= room[:, part].min(axis=0) >= amount
            good = np.concatenate([good, part[lasting]])
            first, size = first + size, 4 * size
        return good[: want.nodes]

    def _take(self, draw: int, at: int, end: int, nodes: Places, amounts: tuple[int, ...]) -> None:
        if end == at:
            return
        before = self._free[:, draw, at:end][:, :, nodes]
        after = before - np.array(amounts, np.int32)[:, None, None]
        self._free[:, draw][:, at:end, nodes] = after
        lost = np.ones((self._amounts.shape[1], *before.shape[1:]), np.bool_)
        still = lost.copy()
        for resource, amount in enumerate(self._amounts):
            lost &= before[resource] >= amount[:, None, None]
            still &= after[resource] >= amount[:, None, None]
        lost &= ~still & self._among[:, None, nodes]
        self._counts[:, draw, at:end] -= lost.sum(axis=2, dtype=np.int32)

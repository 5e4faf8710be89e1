"""Where a request fits: free room per node and the allocation that a job would get there."""

from collections.abc import Iterable, Mapping, Sequence

from scheduler.adapters.simulator.jobs import SimJob
from scheduler.adapters.simulator.state import SimNode, SimNodeState
from scheduler.model.jobs import Request
from scheduler.model.resources import Amounts, add, covers, subtract

Alloc = dict[str, dict[str, int]]


def with_untyped(amounts: Amounts) -> dict[str, int]:
    """The same amounts with each typed resource under its plain name too: `gpu:a100` 2 means also `gpu` 2."""
    typed: dict[str, int] = {}
    for name, amount in amounts.items():
        if ":" in name:
            plain = name.split(":", 1)[0]
            typed[plain] = typed.get(plain, 0) + amount
    return {**amounts, **{plain: max(amount, amounts.get(plain, 0)) for plain, amount in typed.items()}}


class SimRoom:
    """What is free on every node, and how many jobs (and exclusive jobs) are on it."""

    def __init__(self, nodes: Iterable[SimNode], jobs: Iterable[SimJob] = ()) -> None:
        self.free: dict[str, dict[str, int]] = {node.name: dict(node.total) for node in nodes}
        self.busy: dict[str, int] = dict.fromkeys(self.free, 0)
        self.closed: dict[str, int] = dict.fromkeys(self.free, 0)
        for job in jobs:
            self.take(job.alloc, exclusive=job.spec.request.exclusive)

    def copy(self) -> "SimRoom":
        """An independent copy."""
        other = SimRoom(())
        other.free = {name: dict(free) for name, free in self.free.items()}
        other.busy, other.closed = dict(self.busy), dict(self.closed)
        return other

    def take(self, alloc: Mapping[str, Amounts], *, exclusive: bool) -> None:
        """A job with this allocation comes."""
        self._move(alloc, 1, exclusive=exclusive)

    def give(self, alloc: Mapping[str, Amounts], *, exclusive: bool) -> None:
        """A job with this allocation goes."""
        self._move(alloc, -1, exclusive=exclusive)

    def holds(self, alloc: Mapping[str, Amounts]) -> bool:
        """Whether all of the allocation is free, on nodes that nobody has for himself."""
        return all(not self.closed[name] and covers(self.free[name], part) for name, part in alloc.items())

    def _move(self, alloc: Mapping[str, Amounts], jobs: int, *, exclusive: bool) -> None:
        change = subtract if jobs > 0 else add
        for name, part in alloc.items():
            change(self.free[name], part)
            self.busy[name] += jobs
            self.closed[name] += jobs if exclusive else 0


def place(request: Request, room: SimRoom, nodes: Sequence[SimNode]) -> Alloc | None:
    """The allocation that `request` gets in `room` on some of `nodes` (first fit in their order), or None."""
    usable = [node for node in nodes if _allowed(request, room, node)]
    alloc = _place_spread(request, room, usable) if request.spread else _place_nodes(request, room, usable)
    if alloc is not None and request.exclusive:
        for node in usable:
            if node.name in alloc:  # all of the node, as in Slurm, but of its memory only what was asked for
                alloc[node.name] |= {name: amount for name, amount in node.total.items() if name != "mem"}
    return alloc


def _allowed(request: Request, room: SimRoom, node: SimNode) -> bool:
    return (
        node.state is SimNodeState.UP
        and request.features <= node.features
        and (not request.only_nodes or node.name in request.only_nodes)
        and node.name not in request.not_nodes
        and not room.closed[node.name]
        and not (request.exclusive and room.busy[node.name])
    )


def _place_nodes(request: Request, room: SimRoom, nodes: Sequence[SimNode]) -> Alloc | None:
    alloc: Alloc = {}
    for node in nodes:
        part = _share(with_untyped(request.per_node), room.free[node.name])
        if part is not None:
            alloc[node.name] = part
        if len(alloc) == max(1, request.nodes):
            return alloc
    return None


def _place_spread(request: Request, room: SimRoom, nodes: Sequence[SimNode]) -> Alloc | None:
    want = with_untyped(request.spread)
    for node in nodes:  # one node for all of it is better than several
        part = _share(want, room.free[node.name])
        if part is not None:
            return {node.name: part}
    alloc: Alloc = {}
    left = dict(want)
    for node in nodes:
        part = _share(_most(left, room.free[node.name]), room.free[node.name])
        if part:
            alloc[node.name] = part
            left = {name: max(0, amount - part.get(name, 0)) for name, amount in left.items()}
        if not any(left.values()):
            return alloc
    return None


def _share(want: Amounts, free: Amounts) -> dict[str, int] | None:
    """What a job that wants this gets of a node: an untyped resource with its types named. None: no room."""
    if not covers(free, want):
        return None
    part = {name: amount for name, amount in want.items() if amount}
    for plain in [name for name in part if ":" not in name]:
        types = sorted(name for name in free if name.startswith(f"{plain}:"))
        rest = part[plain] - sum(part.get(name, 0) for name in types)
        for name in types if rest > 0 else ():
            more = min(rest, free[name] - part.get(name, 0))
            if more > 0:
                part[name] = part.get(name, 0) + more
                rest -= more
    return part


def _most(left: Amounts, free: Amounts) -> dict[str, int]:
    """The largest part of `left` that a node with this much free can give, typed resources first."""
    part = {name: min(amount, max(0, free.get(name, 0))) for name, amount in left.items()}
    for plain in [name for name in part if ":" not in name]:
        types = [name for name in part if name.startswith(f"{plain}:")]
        if types:
            typed_here = sum(part[name] for name in types)
            untyped_left = left[plain] - sum(left[name] for name in types)
            part[plain] = typed_here + min(untyped_left, max(0, free.get(plain, 0) - typed_here))
    return part

"""What is free on many equal nodes, in a form that a simulation of months can afford to ask again and again.

Amounts of several resources are packed into one integer (`Packing`), and a set of nodes is an integer of which each
bit is one node. `Room` keeps, for every free amount that occurs, the nodes that have just that: so counting,
choosing and moving nodes costs a few operations on integers, however many nodes there are.
"""

from collections.abc import Iterator, Mapping

from scheduler.model.resources import Amounts

_BITS = 32
_FIELD = 2**_BITS - 1
MOST = 2 ** (_BITS - 2) - 1
"""The largest amount of one resource on one node: two of them together still fit into a field."""


class Packing:
    """Amounts as one integer: a field of 32 bits for each resource, the first one in the highest field."""

    def __init__(self, total: Amounts) -> None:
        """`total`: what every node has; its order is the order in which leftovers are kept small."""
        self.names = tuple(total)
        self._shifts = {name: _BITS * i for i, name in enumerate(reversed(self.names))}
        self.guard = sum(1 << (shift + _BITS - 1) for shift in self._shifts.values())
        self.total = self.pack(total)

    def pack(self, amounts: Amounts) -> int:
        """The integer; every name must be one of `names`, every amount at most `MOST`."""
        return sum(amount << self._shifts[name] for name, amount in amounts.items())

    def unpack(self, packed: int) -> dict[str, int]:
        """The amounts, in the order of `names`."""
        return {name: packed >> self._shifts[name] & _FIELD for name in self.names}


class FreeRoom:
    """Free amounts → the nodes that have just so much free; no entry is empty."""

    __slots__ = ("_guard", "masks")

    def __init__(self, guard: int, masks: Mapping[int, int]) -> None:
        self._guard = guard
        self.masks = dict(masks)

    @classmethod
    def empty(cls, packing: Packing, nodes: int) -> "FreeRoom":
        """All nodes with all that they have."""
        return cls(packing.guard, {packing.total: (1 << nodes) - 1})

    def copy(self) -> "FreeRoom":
        return FreeRoom(self._guard, self.masks)

    def shift(self, nodes: int, by: int) -> None:
        """Change what is free on some nodes: `by` is packed, negative when it is taken."""
        masks = self.masks
        moves = [(free, part) for free, mask in masks.items() if (part := mask & nodes)]
        for free, part in moves:
            rest = masks[free] ^ part
            if rest:
                masks[free] = rest
            else:
                del masks[free]
        for free, part in moves:
            masks[free + by] = masks.get(free + by, 0) | part

    def fitting(self, wants: int) -> int:
        """The nodes that have at least so much free."""
        guard = self._guard
        result = 0
        for free, mask in self.masks.items():
            # The guard bit of a field survives the subtraction just when the field suffices.
            if (free + guard - wants) & guard == guard:
                result |= mask
        return result

    def pick(self, among: int, count: int) -> int:
        """So many of some nodes: first those with the least free, of these the lowest bits. There must be so many."""
        chosen = 0
        for free in sorted(self.masks):
            part = self.masks[free] & among
            if not part:
                continue
            here = part.bit_count()
            if here >= count:
                return chosen | lowest(part, count)
            chosen |= part
            count -= here
        raise ValueError("too few nodes to pick from")


def lowest(nodes: int, count: int) -> int:
    """The lowest bits of a set, so many of them."""
    result = 0
    for _ in range(count):
        bit = nodes & -nodes
        result |= bit
        nodes ^= bit
    return result


def indexes(nodes: int) -> Iterator[int]:
    """The numbers of the nodes of a set, from the lowest."""
    while nodes:
        bit = nodes & -nodes
        yield bit.bit_length() - 1
        nodes ^= bit

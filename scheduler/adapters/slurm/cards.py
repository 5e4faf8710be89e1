"""GPUs that are given out whole or in shares: `shard` and `mps` beside `gpu` on one node.

A card is given out whole or in shares, and all shares that a job has on a node are of one card. So free shares, or
free GPUs, are no room by themselves: what counts is what each card has left. It is told of running jobs (`IDX:`, or
from 23.02 on `2/4,0/4`), and counted as an amount of the node for each card. A request wants some cards whole, or
shares of one; which ones is for the planner to choose (`Request.one_of`).

Of MPS only one card of a node is used at a time. 22.05 gives a whole GPU also where shares of it are given out, but no
shares of one that is given out whole. Tried on 22.05.8, 24.11.5 and 26.05.5.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from scheduler.adapters.slurm import values
from scheduler.model.resources import INNER, Amounts, add

SHARES = ("shard", "mps")
PLAIN = f"{INNER}plain"
"""What nodes have whose GPUs are given out whole only, where there are others: as much as anybody could want."""
PLENTY = 1 << 20
MOST_WAYS = 96
"""Requests that could be met with the cards of a node in more ways are not planned for: each way is tried."""
_HELD = re.compile(r"([A-Za-z_]\w*)((?::[^,:()]+)*)\(([^()]*)\)")


@dataclass(frozen=True, slots=True)
class Cards:
    """The cards of a node: how many, and how many shares of which kind each has."""

    number: int
    each: int
    kind: str

    def name(self, index: int) -> str:
        """What is left of one card. Cards of different sizes are different resources."""
        return f"{INNER}gpu{index}.{self.kind}{self.each}"

    def turned_off(self, index: int) -> str:
        """That nobody uses MPS on one card."""
        return f"{INNER}no_mps{index}.{self.each}"

    @property
    def inner(self) -> dict[str, int]:
        """All of it, as amounts of the node."""
        amounts = {self.name(index): self.each for index in range(self.number)}
        if self.kind == "mps":
            amounts |= {self.turned_off(index): PLENTY for index in range(self.number)}
        return amounts

    def held(self, gres: str) -> dict[str, int]:
        """What a job holds of them, from its `GRES=` of the node. Raises ValueError."""
        amounts: dict[str, int] = {}
        for match in _HELD.finditer(gres):
            for index, amount in self._cards(match[1], match[2].rpartition(":")[2], match[3]):
                add(amounts, {self.name(index): amount})
                if match[1] == "mps":
                    add(amounts, {self.turned_off(index): 1})
        return amounts

    def _cards(self, kind: str, count: str, told: str) -> Iterable[tuple[int, int]]:
        if kind == "gpu" and told.startswith("IDX:"):
            return [(index, self.each) for index in values.ids(told.removeprefix("IDX:"))]
        if kind not in SHARES:
            return []
        if told.startswith("IDX:"):
            return [(index, values.number(count)) for index in values.ids(told.removeprefix("IDX:"))]
        parts = (part.partition("/")[0] for part in told.split(","))
        return [(index, values.number(part)) for index, part in enumerate(parts) if part not in {"0", "-"}]

    def ways(self, asked: Amounts, *, gpus_mind: bool) -> list[dict[str, int]]:
        """In which ways a node could give what is asked for. `gpus_mind`: a whole GPU wants a card without shares."""
        if shares := asked.get(self.kind, 0):
            return [
                {self.name(index): shares, **self._others_off(index)}
                for index in range(self.number)
                if shares <= self.each
            ]
        gpus = asked.get("gpu", 0)
        if not gpus or not gpus_mind:
            return [{}]
        return [{self.name(i): self.each for i in some} for some in combinations(range(self.number), gpus)]

    def _others_off(self, index: int) -> dict[str, int]:
        if self.kind != "mps":
            return {}
        return {self.turned_off(other): PLENTY for other in range(self.number) if other != index}


def of_node(total: Amounts) -> Cards | None:
    """The cards of a node whose GPUs are given out in shares too; None where they are not. Raises ValueError where
    that is not modelled."""
    kinds = [kind for kind in SHARES if total.get(kind)]
    if not kinds:
        return None
    number, types = total.get("gpu", 0), [name for name in total if name.startswith("gpu:")]
    if len(kinds) > 1 or not number or total[kinds[0]] % number or len(types) > 1:
        raise ValueError("its GPUs are shared in a way that is not modelled")
    return Cards(number, total[kinds[0]] // number, kinds[0])


def ways_of(
    asked: Amounts, cards: Mapping[str, Cards], names: Iterable[str], *, gpus_mind: bool
) -> list[dict[str, int]]:
    """In which ways some nodes could give what is asked for; empty where none has cards that matter. Raises ValueError
    where there are too many."""
    if not any(asked.get(kind) for kind in ("gpu", *SHARES)):
        return []
    there = {cards.get(name) for name in names}
    sizes = sorted({(c.kind, c.each, c.number) for c in there if c is not None})
    if not sizes:
        return []
    ways = [{PLAIN: 1}] if asked.get("gpu") and None in there else []
    for kind, each in dict.fromkeys((kind, each) for kind, each, _ in sizes):
        most = max(number for k, e, number in sizes if (k, e) == (kind, each))
        if not any(asked.get(other) for other in SHARES if other != kind):
            ways += Cards(most, each, kind).ways(asked, gpus_mind=gpus_mind)
    if len(ways) > MOST_WAYS:
        raise ValueError(f"its {asked.get('gpu', 0)} GPUs could be any of many that are shared")
    # Where one way is to want nothing of the cards, the others are no better.
    return [] if {} in ways else [dict(way) for way in ways]

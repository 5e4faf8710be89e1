"""Random partitions with every planning method on or off, from a number: the same one always gives the same partition.

For comparisons of plans: of one edition of the planner with another, and with what was written down (`plan_digests`).
They are larger than Hypothesis's, so that what the planner keeps from one decision to the next is used: nearly full
nodes, many requests that differ in one resource only, and everything that rules can say.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduler.model.jobs import Elastic, JobState, Level, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import How
from scheduler.model.policy import (
    AppliesTo,
    Balance,
    Dispatch,
    GiveBack,
    Mode,
    Otherwise,
    OverQuota,
    Partial,
    VictimOrder,
)
from scheduler.model.snapshot import PartitionRules, Snapshot

NOW = 1_700_000_000
HOUR = 3600
LOW: tuple[Level, ...] = (0, 1, 2, 2, 3, 3, None)
HIGH: tuple[Level, ...] = (0, 0, 1, 1, 2, 3, None)
"""The levels of running and of pending jobs: most of those outrank some of these."""
USERS = ("ann", "bob", "carol", "dave")
KINDS = ("whole", "whole", "whole", "units", "elastic units", "elastic nodes", "balanced")
SIZES = ((2, 5), (2, 5), (6, 16), (6, 16), (6, 16), (24, 60))
"""How many nodes: mostly few."""

Amounts = dict[str, int]


@dataclass(slots=True)
class _Making:
    """One partition in the making. `left`: what nobody holds yet, by node."""

    chance: random.Random
    nodes: list[SnapshotNode] = field(default_factory=list)
    left: dict[str, Amounts] = field(default_factory=dict)
    kinds: tuple[str, ...] = KINDS
    features: bool = False
    ends: bool = False
    balance: Balance | None = None
    flat: tuple[str, ...] = ()
    """Axes on which everybody is equal: then the other one decides."""

    def one_in(self, number: int) -> bool:
        """Whether something that happens once in so many times happens now."""
        return self.chance.randrange(number) == 0


def random_partition(number: int) -> Snapshot:
    """The partition of this number."""
    chance = random.Random(f"partition {number}")
    making = _Making(chance, features=chance.random() < 0.4, ends=chance.random() < 0.6)
    making.balance = _balance(chance) if chance.random() < 0.4 else None
    making.flat = chance.choice(((), (), ("user_level",), ("task_level",)))
    if chance.random() < 0.3:
        making.kinds = chance.choice(
            (("whole",), ("whole", "units"), ("whole", "elastic nodes"), ("balanced",))
        )
    _make_nodes(making, chance.randint(*chance.choice(SIZES)))
    count = len(making.nodes)
    running = [job for i in range(chance.randint(2 * count, 8 * count)) if (job := _running(making, i))]
    pending = [_pending(making, i) for i in range(chance.randint(2, 4 + 2 * count))]
    return Snapshot(NOW, _rules(making), tuple(making.nodes), (*running, *pending))


def _make_nodes(making: _Making, count: int) -> None:
    chance = making.chance
    gpus, alike = chance.random() < 0.5, chance.random() < 0.5
    for i in range(count):
        cpu = 8 if alike else chance.choice((4, 6, 8, 8, 12))
        total = {"cpu": cpu, "mem": cpu * chance.choice((1_000, 1_000, 2_000))}
        if gpus and chance.random() < 0.6:
            kind = chance.choice(("gpu:a100", "gpu:h100"))
            total |= {"gpu": 4, kind: 4}
        node = SnapshotNode(
            f"n{i}",
            up=not making.one_in(20),
            total=total,
            features=frozenset(
                f for f in ("big", "fast", "new") if making.features and chance.random() < 0.6
            ),
            held_elsewhere={"cpu": 1} if making.one_in(20) else {},
            coming_elsewhere={"cpu": 1, "mem": 500} if making.one_in(20) else {},
            unit=chance.choice(("s0", "s1", None)),
            power={} if making.one_in(10) else {"cpu": round(chance.uniform(0.92, 1.08), 2)},
            health=chance.choice((1.0, 1.0, 0.8, 0.5)),
        )
        making.nodes.append(node)
        making.left[node.name] = dict(total)


def _share(making: _Making, total: Mapping[str, int]) -> Amounts:
    """What a job holds on a node, or one of its units."""
    chance = making.chance
    cpu = chance.choice((1, 1, 2, 3))
    share = {"cpu": cpu, "mem": cpu * chance.choice((250, 500, 1_000))}
    typed = next((name for name in total if ":" in name), "")
    return share | {"gpu": 1, typed: 1} if typed and chance.random() < 0.4 else share


def _running(making: _Making, number: int) -> SnapshotJob | None:
    """A job on one node or some; none when there is no room for it (a few times it is squeezed in)."""
    chance = making.chance
    kind = chance.choice(making.kinds)
    wide = kind == "elastic nodes" or chance.random() < 0.25
    chosen = chance.sample(making.nodes, min(len(making.nodes), chance.randint(2, 4) if wide else 1))
    unit = _share(making, chosen[0].total)
    alloc: dict[str, Amounts] = {}
    for node in chosen:
        left = making.left[node.name]
        most = min([left.get(name, 0) // amount for name, amount in unit.items()])
        count = min(most, chance.randint(1, 4) if "units" in kind else 1)
        if not count and making.one_in(60) and unit.keys() <= node.total.keys():
            count = 1
        if count > 0:
            alloc[node.name] = {name: amount * count for name, amount in unit.items()}
            for name, amount in alloc[node.name].items():
                left[name] -= amount
    if not alloc:
        return None
    return SnapshotJob(
        id=str(1000 + number),
        name=f"train{number}",
        state=JobState.COMPLETING if making.one_in(15) else JobState.RUNNING,
        user=chance.choice(USERS),
        submit=NOW - 20 * HOUR + chance.randrange(5 * HOUR),
        start=NOW - chance.choice((30, 60, 600, HOUR, 2 * HOUR, 9 * HOUR)) - chance.randrange(3) * 10,
        alloc=alloc,
        **_levels(making, LOW),
        **_kind(making, kind, unit, alloc),
        **_past(making),
    )


def _levels(making: _Making, levels: tuple[Level, ...]) -> dict[str, Any]:
    axes = ("user_level", "task_level")
    return {axis: 1 if axis in making.flat else making.chance.choice(levels) for axis in axes}


def _kind(making: _Making, kind: str, unit: Amounts, alloc: dict[str, Amounts]) -> dict[str, Any]:
    """What of a running job makes it one of its kind."""
    chance, fields = making.chance, dict[str, Any]()
    if "units" in kind:
        fields["unit"] = unit
        held = sum([part["cpu"] // unit["cpu"] for part in alloc.values()])
        if kind == "elastic units":
            wish = chance.choice((None, held, held + 3))
            fields["elastic"] = Elastic(min_units=chance.randint(1, held), wish_units=wish)
    elif kind == "elastic nodes":
        wish = chance.choice((None, len(alloc), len(alloc) + 2))
        fields["elastic"] = Elastic(min_nodes=chance.randint(1, len(alloc)), wish_nodes=wish)
    if kind == "balanced" or making.one_in(6):
        fields["balanced"] = True
    return fields


def _past(making: _Making) -> dict[str, Any]:
    chance = making.chance
    fields: dict[str, Any] = {
        "preemptable": not making.one_in(8),
        "how": How.CANCEL if making.one_in(6) else How.REQUEUE,
    }
    if making.ends and chance.random() < 0.8:
        fields["predicted_end"] = NOW + chance.randrange(-600, 4 * HOUR)
    if making.one_in(5):
        fields |= {"restarts": 1, "ran_s": chance.choice((0, 30, HOUR)), "rested": making.one_in(2)}
        fields["stopped"] = chance.randrange(3)
    return fields


def _pending(making: _Making, number: int) -> SnapshotJob:
    chance = making.chance
    promised: dict[str, Amounts] = {}
    if making.one_in(25):
        promised = {chance.choice(making.nodes).name: {"cpu": 1, "mem": 250}}
    return SnapshotJob(
        id=str(1 + number),
        name="eval",
        state=JobState.PENDING,
        user=chance.choice(USERS),
        submit=NOW - chance.randrange(3 * HOUR),
        request=_request(making),
        blocked="it is held by its user" if making.one_in(20) else "",
        promised=promised,
        stopped_at=NOW - chance.randrange(600) if making.one_in(12) else None,
        crashes=3 if making.one_in(12) else 0,
        balanced=making.balance is not None and chance.random() < 0.5,
        **_levels(making, HIGH),
    )


def _request(making: _Making) -> Request:
    chance = making.chance
    cpu = chance.choice((1, 1, 2, 2, 4, 6, 8))
    wants = {"cpu": cpu, "mem": cpu * chance.choice((200, 500, 500, 1_000, chance.randint(100, 1_200)))}
    if making.one_in(5):
        gpus = chance.choice((1, 2, 4))
        wants |= chance.choice(({"gpu": gpus}, {"gpu": gpus, "gpu:a100": gpus}))
    limits = _limits(making)
    kind = chance.choice(("one", "one", "one", "several", "several", "spread", "units", "units"))
    if kind == "spread":
        return Request(spread=wants, **limits)
    if kind == "units":
        unit = {"cpu": chance.choice((1, 2)), "mem": chance.choice((250, 500, 1_000))}
        return Request(unit=unit, count=chance.randint(1, 12), partial=chance.random() < 0.6, **limits)
    if kind == "one":
        return Request(nodes=1, per_node=wants, **limits)
    count = chance.choice((2, 2, 3, 4))
    if making.features and making.one_in(4):
        big, fast = frozenset({"big"}), frozenset({"fast"})
        extra: dict[str, Any] = (
            {"same_of": (big, fast)} if making.one_in(2) else {"counted": ((1, big), (1, fast))}
        )
        return Request(nodes=2 if "counted" in extra else count, per_node=wants, **(limits | extra))
    return Request(nodes=count, per_node=wants, **limits)


def _limits(making: _Making) -> dict[str, Any]:
    chance, limits = making.chance, dict[str, Any]()
    names = [node.name for node in making.nodes]
    if making.one_in(8):
        limits["exclusive"] = True
    if making.features and making.one_in(3):
        limits["features"] = frozenset({chance.choice(("big", "fast"))})
    if making.features and making.one_in(6):
        limits["any_of"] = (frozenset({"big"}), frozenset({"fast", "new"}))
    if making.one_in(10):
        limits["only_nodes"] = frozenset(chance.sample(names, max(1, len(names) // 2)))
    if making.one_in(10):
        limits["not_nodes"] = frozenset(chance.sample(names, len(names) // 3))
    return limits


def _rules(making: _Making) -> PartitionRules:
    chance = making.chance
    return PartitionRules(
        name="x",
        mode=chance.choice(list(Mode)),
        victim_order=chance.choice(list(VictimOrder)),
        bands=chance.choice((None, None, ((0,), (1, 2), (3, None)), ((0, 1), (2, 3, None)))),
        exempt_s=chance.choice((0, 0, 300)),
        units=not making.one_in(6),
        elastic=not making.one_in(6),
        partial=chance.choice(list(Partial)),
        give_back=chance.choice(list(GiveBack)),
        dispatch=chance.choice((Dispatch.SLURM, Dispatch.SLURM, Dispatch.MANAGED)),
        patience_s=chance.choice((0, 0, 600, HOUR)),
        balance=making.balance,
        **_quotas(making),
        **_limits_of_stops(making),
    )


def _balance(chance: random.Random) -> Balance:
    below = chance.choice((0, HOUR, 10 * HOUR))
    most, otherwise = chance.choice((0.02, 0.05, 0.1)), chance.choice(list(Otherwise))
    return Balance("cpu", most, otherwise, below, AppliesTo.ASKED)


def _quotas(making: _Making) -> dict[str, Any]:
    chance = making.chance
    if chance.random() < 0.75:
        return {}
    return {
        "over_quota": chance.choice(list(OverQuota)),
        "quotas": {level: chance.randrange(1, 5) for level in range(4) if making.one_in(3)},
        "quota_amounts": {level: {"cpu": chance.randrange(4, 30)} for level in range(4) if making.one_in(4)},
        "quota_totals": {level: {"cpu": chance.randrange(20, 90)} for level in range(4) if making.one_in(4)},
    }


def _limits_of_stops(making: _Making) -> dict[str, Any]:
    chance, fields = making.chance, dict[str, Any]()
    if making.one_in(40):
        fields["paused"] = "dave paused the partition"
    if making.one_in(4):
        fields |= {"min_wait_s": chance.choice((0, 600)), "cool_down_s": chance.choice((0, 300))}
    if making.one_in(4):
        fields |= {"max_stops_per_hour": chance.randrange(1, 12), "stopped": chance.randrange(3)}
    if making.one_in(4):
        used = {chance.choice(USERS): 2}
        fields |= {"max_stops_per_user_hour": chance.randrange(1, 5), "stopped_by_user": used}
    if making.one_in(3):
        fields |= {
            "rest_s": chance.choice((300, HOUR)),
            "max_stops_per_job_hour": chance.choice((None, 1, 2)),
        }
    if making.one_in(4):
        fields["max_crashes_per_hour"] = 3
    return fields

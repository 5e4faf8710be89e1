"""Shares of nodes that jobs hold and nobody tells: they count as taken, so that no room is seen where there is none.

A job's share is not told when its row or scontrol's text is not understood, and of the nodes that it got while it ran
(`permit_job_expansion`). The job itself is protected; what it holds on such a node is nobody's to plan with: the larger
of

1. what slurmctld has given out of the node beyond the shares that are told (`scontrol --details show nodes`), and
2. what the job holds in all beyond the shares that are told,

but never more than is left. Where slurmctld does not say what it has given out, all that is left counts as taken.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scheduler.adapters.slurm import values
from scheduler.adapters.slurm.nodes import words_of
from scheduler.adapters.slurm.rows import QueueRow
from scheduler.model.jobs import ObservedJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.resources import Amounts, add


@dataclass(frozen=True, slots=True)
class Untold:
    """A share that is not told: on which nodes (None: on any), and how much of it there is in all, as far as told."""

    nodes: tuple[str, ...] | None
    left: Amounts


def left_of(row: QueueRow, alloc: Mapping[str, Amounts]) -> dict[str, int]:
    """What a job holds in all beyond the shares of it that are told."""
    try:
        whole = values.tres(row.tres)
        amounts = {
            "cpu": values.number(whole.get("cpu", "0")),
            "mem": values.memory(whole.get("mem", "0")) or 0,
        }
        amounts.update(values.gres_of_tres(whole))
    except ValueError:
        return {}  # as much as slurmctld has given out, or all that is left
    for share in alloc.values():
        for name, amount in share.items():
            amounts[name] = max(0, amounts.get(name, 0) - amount)
    return amounts


def given_out(record: str) -> tuple[str, dict[str, int]]:
    """A node's name and what slurmctld has given out of it, as far as its record (with --details) tells."""
    words = words_of(record)
    given: dict[str, int] = {}
    for name, key in (("cpu", "CPUAlloc"), ("mem", "AllocMem")):
        if words.get(key, "").isdecimal():
            given[name] = int(words[key])
    try:
        if "GresUsed" in words:
            # Of what is not given out at all there is a count of 0, which `gres` leaves out.
            given.update(dict.fromkeys(values.gres(words.get("Gres", "")), 0))
            given.update(values.gres(words["GresUsed"]))
    except ValueError:
        given = {name: amount for name, amount in given.items() if name in {"cpu", "mem"}}
    return words.get("NodeName", ""), given


def taken(
    nodes: Sequence[SnapshotNode],
    jobs: Iterable[ObservedJob],
    untold: Sequence[Untold],
    given: Mapping[str, Amounts],
) -> list[SnapshotNode]:
    """The nodes, with the untold shares as `held_elsewhere`."""
    told: dict[str, dict[str, int]] = {}
    for job in jobs:
        for name, share in job.alloc.items():
            add(told.setdefault(name, {}), share)
    return [_with_untold(node, untold, told.get(node.name, {}), given.get(node.name, {})) for node in nodes]


def _with_untold(node: SnapshotNode, untold: Sequence[Untold], told: Amounts, given: Amounts) -> SnapshotNode:
    here = [one for one in untold if one.nodes is None or node.name in one.nodes]
    if not here:
        return node
    left: dict[str, int] = {}
    for one in here:
        # Of a job that may be on any node what it holds in all says nothing about this one.
        add(left, one.left if one.nodes is not None else {})
    held: dict[str, int] = {}
    for name, amount in node.total.items():
        rest = max(0, amount - told.get(name, 0))
        beyond = max(given[name] - told.get(name, 0), left.get(name, 0)) if name in given else rest
        held[name] = min(rest, max(0, beyond))
    return replace(node, held_elsewhere={name: amount for name, amount in held.items() if amount})

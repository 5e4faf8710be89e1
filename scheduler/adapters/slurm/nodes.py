"""`scontrol -o show nodes` and `show partitions` decoded."""

import re

from scheduler.adapters.slurm import values
from scheduler.adapters.slurm.config import Config
from scheduler.model.nodes import SnapshotNode
from scheduler.model.observation import ObservedPartition

_UP = frozenset({"IDLE", "MIXED", "ALLOCATED"})
_NOT_FOR_NEW_JOBS = frozenset({
    "DOWN", "ERROR", "FUTURE", "UNKNOWN", "INVALID", "INVALID_REG", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING",
    "MAINT", "MAINTENANCE", "RESERVED", "NOT_RESPONDING", "NO_RESPOND", "POWERING_DOWN", "POWER_DOWN",
    "POWER_DRAIN", "REBOOT_ISSUED", "BLOCKED",
})  # fmt: skip
NOT_UNDERSTOOD = "NOT UNDERSTOOD"
"""Stands for the state of what does not decode; no state of Slurm's is called so."""
_WORD = re.compile(r"(?:^| )([A-Za-z/:]+)=(\S*)")
_SHARED = re.compile(r" OverSubscribe=FORCE:(\d{1,4}) ")
_TIER = re.compile(r" PriorityTier=(\d{1,5}) ")
_BOOT = re.compile(r" BootTime=(\S+)")
_REASON = re.compile(r"\sReason=(.*)", re.DOTALL)
# The free texts of a node; what follows them is not Slurm's own.
_FREE = re.compile(r"\s(?:Comment|Extra|Reason)=", re.DOTALL)


def records(out: str, key: str) -> list[str]:
    """The records of a one-line-each answer; a line that does not begin with `key` belongs to the one before.

    Raises ValueError when the answer does not begin with one or is cut off.
    """
    if not out.strip() or out.startswith("No "):
        return []
    if not out.startswith(f"{key}=") or not out.endswith("\n"):
        raise ValueError(f"the table of {key} is cut off")
    return re.split(rf"\n(?={key}=)", out[:-1])


def name_of(record: str) -> str:
    """What to call a record that does not decode, in a fault."""
    word = record.partition("=")[2][:40].split(" ", 1)[0]
    return word if word.isprintable() else "?"


def up(state: str) -> bool:
    """Whether new jobs may start on a node in this state (`MIXED+PLANNED` yes, `IDLE+DRAIN`, `IDLE*` no)."""
    if "*" in state:
        return False
    base, *flags = re.sub(r"[~#!%$@^+-]", "+", state).split("+")
    return base in _UP and not _NOT_FOR_NEW_JOBS.intersection(flags)


def words_of(record: str) -> dict[str, str]:
    """Slurm's own words of a node's record."""
    free = _FREE.search(record)
    return dict(_WORD.findall(record[: free.start()] if free else record))


def reason_of(record: str) -> str:
    """Why a node is in its state, with who said so; empty where nobody did."""
    reason = _REASON.search(record)
    return " ".join(reason[1].split()) if reason else ""


def boot_of(name: str, record: str) -> dict[str, int]:
    """When a node was booted, by its name; empty where Slurm does not know, or in words that are not understood."""
    told = _BOOT.search(record)
    try:
        at = values.moment(told[1]) if told else None
    except ValueError:
        return {}
    return {name: at} if at else {}


def decode_node(record: str, config: Config) -> tuple[SnapshotNode, int]:
    """A node, and how many threads share one of its cores. Raises ValueError, KeyError when it does not decode."""
    words = words_of(record)
    total = {"cpu": values.number(words.get("CPUEfctv") or words["CPUTot"])}
    if config.memory_counts:
        spared = values.text(words.get("MemSpecLimit", "")) or "0"
        total["mem"] = max(0, values.number(words["RealMemory"]) - values.number(spared))
    total.update(values.gres(words.get("Gres", "")))
    partitions = tuple(filter(None, values.text(words.get("Partitions", "")).split(",")))
    node = SnapshotNode(
        name=words["NodeName"],
        up=up(words["State"]),
        total=total,
        features=frozenset(filter(None, values.text(words.get("ActiveFeatures", "")).split(","))),
        state=words["State"],
        state_reason=reason_of(record),
        partitions=partitions,
    )
    return node, max(1, values.number(words.get("ThreadsPerCore", "1")))


def odd_node(record: str, error: Exception) -> SnapshotNode:
    """A node that does not decode: it takes no jobs, nothing is planned on it, and it says why."""
    words = words_of(record)
    return SnapshotNode(
        name=name_of(record),
        up=False,
        total={},
        state=words.get("State", NOT_UNDERSTOOD)[:60],
        state_reason=fault("node", record, error),
        partitions=tuple(filter(None, values.text(words.get("Partitions", "")).split(","))),
    )


def decode_partition(record: str) -> tuple[ObservedPartition, bool, str]:
    """A partition, whether its jobs get whole nodes (or share them with their own user's only), and the name of the
    topology that it has of its own, if any.

    Raises ValueError, KeyError when it does not decode. Slurm 26.05 says of whole nodes in a word of its own.
    """
    words: dict[str, str] = dict(_WORD.findall(record))
    partition = ObservedPartition(words["PartitionName"], words["State"], values.nodes(words["Nodes"]))
    exclusive = (
        values.text(words.get("Exclusive", "NO")) not in {"", "NO"} or words.get("ExclusiveUser") == "YES"
    )
    whole = exclusive or words.get("OverSubscribe", "NO").startswith("EXCLUSIVE")
    return partition, whole, values.text(words.get("Topology", ""))


def shares_cpus(record: str) -> bool:
    """Whether all jobs of a partition share CPUs: `FORCE:4`, four jobs on each. FORCE:1 only has them take turns."""
    told = _SHARED.search(record)
    return told is not None and int(told[1]) > 1


def tier(record: str) -> int:
    """The PriorityTier of a partition; the lowest where it is not told."""
    told = _TIER.search(record)
    return int(told[1]) if told else 1


def odd_partition(record: str) -> ObservedPartition:
    """A partition that does not decode: no job is taken to start in it, and nothing is planned in it."""
    return ObservedPartition(name_of(record), NOT_UNDERSTOOD)


def fault(kind: str, record: str, error: Exception) -> str:
    """The fault for a record that does not decode."""
    what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return f"{kind} {name_of(record)} does not decode: {what}"

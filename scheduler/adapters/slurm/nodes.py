"""`scontrol -o show nodes` and `show partitions` decoded."""

import re
from dataclasses import dataclass

from scheduler.adapters.slurm import values
from scheduler.adapters.slurm.cards import Cards, of_node
from scheduler.adapters.slurm.config import Config
from scheduler.model.nodes import SnapshotNode
from scheduler.model.observation import ObservedPartition

_UP = frozenset({"IDLE", "MIXED", "ALLOCATED"})
_NOT_FOR_NEW_JOBS = frozenset({
    "DOWN", "ERROR", "FUTURE", "UNKNOWN", "INVALID", "INVALID_REG", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING",
    "MAINT", "MAINTENANCE", "RESERVED", "NOT_RESPONDING", "NO_RESPOND", "POWERING_DOWN", "POWER_DOWN",
    "POWER_DRAIN", "REBOOT_ISSUED", "BLOCKED",
    # As soon as nobody is on it the node is rebooted, whoever waits for it.
    "REBOOT_REQUESTED",
})  # fmt: skip
NOT_UNDERSTOOD = "NOT UNDERSTOOD"
"""Stands for the state of what does not decode; no state of Slurm's is called so."""
_WORD = re.compile(r"(?:^| )([A-Za-z/:]+)=(\S*)")
_SHARED = re.compile(r" OverSubscribe=(FORCE|YES):(\d{1,4}) ")
_TIER = re.compile(r" PriorityTier=(\d{1,5}) ")
_BOOT = re.compile(r" BootTime=(\S+)")
_REASON = re.compile(r"\sReason=(.*)", re.DOTALL)
# The free texts of a node; what follows them is not Slurm's own.
_FREE = re.compile(r"\s(?:Comment|Extra|Reason)=", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """What of a node is no amount. `threads`: how many share a core; `tmp_disk`: MB, which nobody uses up.
    `changeable`: features that it would have only after a reboot. `restricted`: cores of it are kept for GPU jobs.
    `cards`: GPUs that are given out in shares too; `odd_cards`: in a way that is not modelled."""

    threads: int = 1
    tmp_disk: int = 0
    changeable: frozenset[str] = frozenset()
    restricted: bool = False
    cards: Cards | None = None
    odd_cards: bool = False


@dataclass(frozen=True, slots=True)
class PartitionLimits:
    """What a partition says of how its jobs are placed, as far as it limits that; `odd`: what of it is not modelled, in
    words with the word itself. `job_defaults`: what jobs with GPUs get that ask for nothing else."""

    min_nodes: int = 0
    cpus_per_node: int | None = None
    max_nodes: int | None = None
    mem_per_node: int | None = None
    job_defaults: str = ""
    odd: tuple[str, ...] = ()


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


def decode_node(record: str, config: Config) -> tuple[SnapshotNode, NodeLayout]:
    """A node, and what of it is no amount. Raises ValueError, KeyError when it does not decode."""
    words = words_of(record)
    total = {"cpu": values.number(words.get("CPUEfctv") or words["CPUTot"])}
    if config.memory_counts:
        spared = values.text(words.get("MemSpecLimit", "")) or "0"
        total["mem"] = max(0, values.number(words["RealMemory"]) - values.number(spared))
    total.update(values.gres(words.get("Gres", "")))
    partitions = tuple(filter(None, values.text(words.get("Partitions", "")).split(",")))
    features, available = (_features(words, key) for key in ("ActiveFeatures", "AvailableFeatures"))
    try:
        cards, odd_cards = of_node(total), False
    except ValueError:
        cards, odd_cards = None, True
    node = SnapshotNode(
        name=words["NodeName"],
        up=up(words["State"]),
        total=total,
        features=features,
        state=words["State"],
        state_reason=reason_of(record),
        partitions=partitions,
        inner=cards.inner if cards else {},
    )
    return node, NodeLayout(
        threads=max(1, values.number(words.get("ThreadsPerCore", "1"))),
        tmp_disk=values.number(words.get("TmpDisk", "0")),
        changeable=available - features,
        restricted="RestrictedCoresPerGPU" in words,
        cards=cards,
        odd_cards=odd_cards,
    )


def _features(words: dict[str, str], key: str) -> frozenset[str]:
    return frozenset(filter(None, values.text(words.get(key, "")).split(",")))


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
    partition = ObservedPartition(
        words["PartitionName"],
        words["State"],
        values.nodes(words["Nodes"]),
        cpus_per_node=_most(words, "MaxCPUsPerNode"),
    )
    exclusive = (
        values.text(words.get("Exclusive", "NO")) not in {"", "NO"} or words.get("ExclusiveUser") == "YES"
    )
    whole = exclusive or words.get("OverSubscribe", "NO").startswith("EXCLUSIVE")
    return partition, whole, values.text(words.get("Topology", ""))


_NO_LIMIT = frozenset({"UNLIMITED", "INFINITE"})


def _most(words: dict[str, str], key: str) -> int | None:
    """A limit; None where there is none."""
    word = words.get(key, "UNLIMITED")
    return None if word in _NO_LIMIT or not values.text(word) else values.number(word)


def limits(record: str) -> PartitionLimits:
    """What a partition says of how its jobs are placed. What does not decode is odd."""
    words: dict[str, str] = dict(_WORD.findall(record))
    odd = [
        f"{says} ({key}={words[key][:30]})"
        for key, says, nothing in (
            ("MaxCPUsPerSocket", "its partition limits the CPUs of a socket", _NO_LIMIT),
            ("ExclusiveTopo", "its partition's jobs have parts of the network for themselves", {"NO"}),
            ("MaxMemPerCPU", "its partition gives CPUs for memory", _NO_LIMIT),
            ("SelectTypeParameters", "its partition gives out CPUs in its own way", {"NONE"}),
        )
        if key in words and words[key] not in nothing
    ]
    if words.get("Exclusive", "NO") not in {"NO", "NODE", "USER"}:
        odd.append(
            f"its partition's nodes are shared in a way that is not modelled (Exclusive={words['Exclusive'][:30]})"
        )
    try:
        return PartitionLimits(
            min_nodes=values.number(words.get("MinNodes", "0")),
            cpus_per_node=_most(words, "MaxCPUsPerNode"),
            max_nodes=_most(words, "MaxNodes"),
            mem_per_node=_most(words, "MaxMemPerNode"),
            job_defaults=values.text(words.get("JobDefaults", "")),
            odd=tuple(odd),
        )
    except ValueError as error:
        return PartitionLimits(odd=(*odd, f"its partition's limits are not understood: {error}"))


def shares_cpus(record: str, word: str = "FORCE") -> bool:
    """Whether all jobs of a partition share CPUs: `FORCE:4`, four jobs on each; of `YES` those that want to. With one
    on each they only take turns."""
    told = _SHARED.search(record)
    return told is not None and told[1] == word and int(told[2]) > 1


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

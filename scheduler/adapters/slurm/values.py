"""Slurm's ways to write numbers, times, amounts and lists of nodes, decoded. Each function raises ValueError."""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

NOTHING = frozenset({"", "(null)", "N/A", "NONE", "None", "Unknown", "NOT_SET", "n/a"})
"""The words that stand for "not set" in one place or another."""

# The same few words stand in thousands of rows.
_REMEMBERED = 8192
_UNITS = {"": 0, "K": -10, "M": 0, "G": 10, "T": 20, "P": 30}
_COUNT_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MEMORY = re.compile(r"(\d+)(?:\.(\d+))?([KMGTP]?)")
_COUNT = re.compile(r"(\d+)([KMGT]?)")
_LIMIT = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")
_UNLIMITED = frozenset({"UNLIMITED", "INFINITE", "Partition_Limit", "PARTITION_LIMIT", "INVALID"})
_SOCKETS = re.compile(r":?\((?!CNT:)[^)]*\)")
# Of what is only counted (no `File=` in gres.conf) allocations say `npu(CNT:5)`, `tok:x(CNT:1)`.
_COUNTED = re.compile(r"\(CNT:(\d+)\)")
_LONGEST = 18
"""Characters of a number at most: more are no number of Slurm's."""
_TOO_MANY = 1 << 63
"""No database keeps such numbers."""
_LATEST = 1 << 36
"""No moment is later than this (in the year 4147)."""
_MOST_NODES = 1 << 20
_BRACKETS = re.compile(r"\[([^\]]*)\]")
_RANGES = re.compile(r"[\d,/-]*", re.ASCII)
_OUTSIDE_BRACKETS = re.compile(r",(?![^\[]*\])")


def text(word: str) -> str:
    """A word, or the empty text when Slurm wrote that there is none."""
    return "" if word in NOTHING else word


@lru_cache(maxsize=_REMEMBERED)
def number(word: str) -> int:
    """A count such as `12` or `2K`."""
    match = _COUNT.fullmatch(word)
    if not match or len(word) > _LONGEST:
        raise ValueError(f"{word[:40]!r} is no number")
    if (count := int(match[1]) * _COUNT_UNITS[match[2]]) >= _TOO_MANY:
        raise ValueError(f"{word[:40]!r} is no number")
    return count


@lru_cache(maxsize=_REMEMBERED)
def moment(word: str) -> int | None:
    """A time as printed with SLURM_TIME_FORMAT=%FT%T and TZ=UTC, as epoch seconds; None when not set."""
    if word in NOTHING:
        return None
    if len(word) > len("2026-11-20T17:50:24"):
        raise ValueError(f"{word[:40]!r} is no moment")
    seconds = int(word) if word.isdecimal() else datetime.fromisoformat(word).replace(tzinfo=UTC).timestamp()
    if not 0 <= seconds <= _LATEST:
        raise ValueError(f"{word[:40]!r} is no moment")
    return int(seconds)


@lru_cache(maxsize=_REMEMBERED)
def duration(word: str) -> int | None:
    """A time limit (`1-02:03:04`, `02:03:04`, `03:04`) in seconds; None when there is none."""
    if word in NOTHING or word in _UNLIMITED:
        return None
    match = _LIMIT.fullmatch(word)
    if not match or len(word) > 2 * _LONGEST:
        raise ValueError(f"{word[:40]!r} is no time limit")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    if (limit := ((days * 24 + hours) * 60 + minutes) * 60 + seconds) >= _TOO_MANY:
        raise ValueError(f"{word[:40]!r} is no time limit")
    return limit


@lru_cache(maxsize=_REMEMBERED)
def memory(word: str) -> int | None:
    """An amount of memory in MB; None when Slurm may have rounded it (`1.46G`), so that it must be asked elsewhere.

    slurmctld takes the next unit only for whole halves of it, so `62.50G` is exactly 64000.
    """
    match = _MEMORY.fullmatch(word)
    if not match or len(word) > _LONGEST:
        raise ValueError(f"{word[:40]!r} is no amount of memory")
    halves = {"": 0, "0": 0, "00": 0, "5": 1, "50": 1}.get(match[2] or "")
    if halves is None:
        return None
    value, shift = 2 * int(match[1]) + halves, _UNITS[match[3]] - 1
    if (amount := value << shift if shift >= 0 else -(-value >> -shift)) >= _TOO_MANY:
        raise ValueError(f"{word[:40]!r} is no amount of memory")
    return amount


@lru_cache(maxsize=_REMEMBERED)
def tres(word: str) -> Mapping[str, str]:
    """`cpu=2,mem=200M,node=1,gres/gpu:a100=2` as a mapping of the words."""
    if word in NOTHING:
        return MappingProxyType({})
    pairs = [part.partition("=") for part in word.split(",")]
    if not all(key and mark for key, mark, _ in pairs):
        raise ValueError(f"{word[:80]!r} is no list of resources")
    return MappingProxyType({key: value for key, _, value in pairs})


def gres(word: str) -> dict[str, int]:
    """Generic resources under both names: `gres:gpu:a100:3,gpu:2(S:0-1)` is `{"gpu": 5, "gpu:a100": 3}`.

    Takes the texts of nodes, of allocations (`gpu:2(IDX:0-1)`) and of requests (`gres:gpu:2`, later `gres/gpu:2`;
    per task `cpu=4,gres/gpu=2`, of which the CPUs are told elsewhere).
    Resources that cannot run out (`no_consume`) are left out; so are counts of zero.
    """
    amounts: dict[str, int] = {}
    plain = _COUNTED.sub(r":\1", _SOCKETS.sub("", word))
    for part in plain.split(",") if word not in NOTHING else ():
        names, count = _gres_part(part)
        for name in names if count else ():
            amounts[name] = amounts.get(name, 0) + count
    return amounts


def _gres_part(part: str) -> tuple[tuple[str, ...], int]:
    if part.startswith("cpu="):
        return (), 0
    if "=" in part and not part.startswith("gres"):
        raise ValueError(f"{part[:80]!r} is no generic resource")
    words = part.removeprefix("gres:").removeprefix("gres/").replace("=", ":").split(":")
    if "no_consume" in words:
        return (), 0
    # What is no pure number is a type: `gpu:1g.10gb`, `gpu:2080ti`.
    count = number(words.pop()) if len(words) > 1 and _COUNT.fullmatch(words[-1]) else 1
    if not all(name.strip() for name in words) or len(words) > 2:
        raise ValueError(f"{part[:80]!r} is no generic resource")
    return ((words[0],) if len(words) == 1 else (words[0], ":".join(words))), count


def gres_of_tres(amounts: Mapping[str, str]) -> dict[str, int]:
    """The generic resources in a list of TRES, under the names that stand there (`gpu`, `gpu:a100`)."""
    return {key[5:]: number(value) for key, value in amounts.items() if key.startswith("gres/")}


@lru_cache(maxsize=4096)
def nodes(expression: str) -> tuple[str, ...]:
    """The names in a list of nodes such as `n[1-3,7],login`, in its order; empty when there are none."""
    if expression in NOTHING:
        return ()
    if "[" not in expression and "," not in expression:
        return (expression,)
    if sum(map(_size, _OUTSIDE_BRACKETS.split(expression))) > _MOST_NODES:
        raise ValueError(f"{expression[:80]!r} is no list of nodes: no cluster has so many")
    try:
        return tuple(NodeSet(expression, resolver=RESOLVER_NOGROUP))
    except (NodeSetException, LookupError, TypeError, AssertionError, RecursionError) as error:
        raise ValueError(f"{expression[:80]!r} is no list of nodes") from error


def count_of_nodes(expression: str) -> int:
    """How many names a list of nodes writes down, each as often as it stands there."""
    return 0 if expression in NOTHING else sum(map(_size, _OUTSIDE_BRACKETS.split(expression)))


def _size(part: str) -> int:
    """How many nodes a part such as `rack[1-4]n[1-40]` stands for at most, without making their names."""
    if not _RANGES.fullmatch("".join(_BRACKETS.findall(part))):
        raise ValueError(f"{part[:80]!r} is no list of nodes")
    return math.prod(
        sum(count_of_ids(one.partition("/")[0]) for one in inside.split(","))
        for inside in _BRACKETS.findall(part)
    )


def count_of_ids(expression: str) -> int:
    """How many ids there are in `0-3,7`."""
    total = 0
    for part in expression.split(",") if expression else ():
        first, dash, last = part.partition("-")
        total += int(last) - int(first) + 1 if dash else int(first) >= 0
    if not 0 <= total <= _MOST_NODES:
        raise ValueError(f"{expression[:80]!r} is no list of ids")
    return total


def ids(expression: str) -> tuple[int, ...]:
    """The ids in `0-3,7`; none in `N/A`."""
    if expression in NOTHING:
        return ()
    count_of_ids(expression)
    ranges = (part.partition("-") for part in expression.split(","))
    return tuple([one for first, _, last in ranges for one in range(int(first), int(last or first) + 1)])


def ceil_share(amount: int, parts: int) -> int:
    """The largest share when `amount` is dealt out to `parts`."""
    return -(-amount // parts)


def largest(values: Iterable[int]) -> int:
    """The largest, or 0."""
    return max(values, default=0)

"""squeue's table: how it is asked for, and its rows decoded, whatever users write into names and comments.

Users choose names, comments, accounts and constraints, and Slurm prints them as they are: line breaks, separators,
control characters. So every call makes up a word that nobody can guess. It ends each of the free texts and, in another
form, each row. Whatever a user writes, it cannot end a field or forge a row. The fields before them are Slurm's own
and separated by `|`. Of a row that does not decode as a whole `salvage` takes what does: it is never dropped silently.
"""

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler.adapters.slurm import values

_OWN = (
    "JobArrayID", "JobID", "HetJobID", "State", "PriorityLong", "Nice", "RestartCnt", "BatchFlag", "Requeue",
    "SubmitTime", "StartTime", "EligibleTime", "TimeLimit", "Deadline", "NumNodes", "NumCPUs", "OverSubscribe",
    "Exclusive", "tres-alloc", "tres-per-job", "tres-per-node", "tres-per-socket", "tres-per-task", "cpus-per-tres",
    "mem-per-tres", "ReqNodes", "ExcNodes", "NodeList",
)  # fmt: skip
_FREE = (
    "Partition", "UserName", "Reason", "Dependency", "Reservation", "QOS", "Account", "WCKey", "Feature", "Comment",
    "Name",
)  # fmt: skip

# Stands for the mark in decoded records. Slurm's texts are C strings: they cannot hold it.
FIELD = "\x00"
# What OverSubscribe says of a job that shares its nodes with nobody, or with its own user's jobs only: before 26.05.
_NOT_SHARED = frozenset({"NO", "USER", "MCS", "TOPO"})
_MOST_RESTARTS = 1 << 31
_ID = re.compile(r"[1-9]\d{0,9}(?:_\d{1,10})?")
_NUMBER = re.compile(r"[1-9]\d{0,9}")


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One row of squeue: a job, a task of an array, or a component of a heterogeneous job.

    `id` is what commands take; `raw_id` Slurm's own number (for a pending task that of its array). Times are epoch
    seconds. `node_list` and the `per_…` texts are undecoded; `named` is the nodes that it wants and does not want, as
    far as they are told (22.05 tells only the first), to know a change of them by. `asked` is the part of the row that
    a request is made of.
    `alone`: it shares its nodes with nobody, or only with its own user's jobs; `shares`: its CPUs too, where its
    partition allows that. `odd` says what of the row was not understood and stands at its default.
    """

    id: str
    raw_id: str
    het_id: str
    array_id: str
    state: str
    priority: int
    nice: int
    restarts: int
    batch: bool
    requeue: bool
    submit: int
    start: int | None
    eligible: int | None
    limit_s: int | None
    deadline: int | None
    nodes: int
    cpus: int
    alone: bool
    shares: bool
    tres: str
    per_job: str
    per_node: str
    per_socket: str
    per_task: str
    cpus_per_tres: str
    mem_per_tres: str
    named: str
    node_list: str
    partitions: tuple[str, ...]
    user: str
    reason: str
    dependency: str
    reservation: str
    qos: str
    account: str
    wckey: str
    feature: str
    comment: str
    name: str
    odd: str = ""

    @property
    def asked(self) -> tuple[str, ...]:
        """What tells one request from another (as far as squeue shows it)."""
        return (
            self.tres, self.per_job, self.per_node, self.per_socket, self.per_task, self.cpus_per_tres,
            self.mem_per_tres, self.named, str((self.alone, self.shares)), self.feature, str(self.nodes),
            str(self.cpus), *self.partitions,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """One question to squeue: its arguments, and the way to cut up its answer."""

    mark: str

    @classmethod
    def fresh(cls) -> "Table":
        """A table with a new unguessable mark. It begins with a letter: digits would be read as a width."""
        return cls("g" + secrets.token_hex(5))

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of squeue. A field written `Name:suffix` is neither cut nor padded."""
        own = [f"{name}:|" for name in _OWN[:-1]] + [f"{_OWN[-1]}:{self.mark}."]
        free = [f"{name}:{self.mark}." for name in _FREE[:-1]] + [f"{_FREE[-1]}:{self.mark};"]
        return ("--noheader", "--array", "--all", "--local", f"--Format={','.join(own + free)}")

    def records(self, out: str) -> list[str]:
        """The records of an answer, marks replaced by NULs so that the same row is the same text in every call.

        Raises ValueError when the table is cut off or holds a NUL.
        """
        if "\x00" in out:
            raise ValueError("squeue's answer holds a NUL character")
        parts = out.replace(f"{self.mark}.", FIELD).split(f"{self.mark};\n")
        if parts.pop().strip():
            raise ValueError("squeue's table is cut off in its last row")
        return parts


def name_of(record: str) -> str:
    """What to call a record that does not decode, in a fault."""
    word = record[:24].split("|", 1)[0]
    return f"job {word}" if word[:1].isdigit() and word.isprintable() else "a job"


def _submit(word: str) -> int:
    moment = values.moment(word)
    if moment is None:
        raise ValueError("it has no submit time")
    return moment


def _restarts(word: str) -> int:
    count = int(word)
    if not 0 <= count < _MOST_RESTARTS:
        raise ValueError(f"{word[:40]!r} is no number of restarts")
    return count


def _nice(word: str) -> int:
    """`-100`; nothing of it is taken for 0, as Slurm does."""
    return -values.number(word[1:]) if word.startswith("-") else values.number(word)


def _is_one(word: str) -> bool:
    return word == "1"


def _partitions(word: str) -> tuple[str, ...]:
    return tuple(filter(None, word.split(",")))


# Of each field of a Row: the column, how its word is read, and what stands there when it cannot be.
_READ: Mapping[str, tuple[str, Callable[[str], Any], Any]] = {
    "state": ("State", str, ""),
    "priority": ("PriorityLong", values.number, 0),
    "nice": ("Nice", _nice, 0),
    "restarts": ("RestartCnt", _restarts, 0),
    "batch": ("BatchFlag", _is_one, False),
    "requeue": ("Requeue", _is_one, False),
    "submit": ("SubmitTime", _submit, 0),
    "start": ("StartTime", values.moment, None),
    "eligible": ("EligibleTime", values.moment, None),
    "limit_s": ("TimeLimit", values.duration, None),
    "deadline": ("Deadline", values.moment, None),
    "nodes": ("NumNodes", values.number, 0),
    "cpus": ("NumCPUs", values.number, 0),
    "tres": ("tres-alloc", str, ""),
    "per_job": ("tres-per-job", values.text, ""),
    "per_node": ("tres-per-node", values.text, ""),
    "per_socket": ("tres-per-socket", values.text, ""),
    "per_task": ("tres-per-task", values.text, ""),
    "cpus_per_tres": ("cpus-per-tres", values.text, ""),
    "mem_per_tres": ("mem-per-tres", values.text, ""),
    "node_list": ("NodeList", values.text, ""),
    "partitions": ("Partition", _partitions, ()),
    "user": ("UserName", str, "?"),
    "reason": ("Reason", values.text, ""),
    "dependency": ("Dependency", values.text, ""),
    "reservation": ("Reservation", values.text, ""),
    "qos": ("QOS", values.text, ""),
    "account": ("Account", values.text, ""),
    "wckey": ("WCKey", values.text, ""),
    "feature": ("Feature", values.text, ""),
    "comment": ("Comment", values.text, ""),
    "name": ("Name", str, ""),
}


def decode(record: str) -> QueueRow:
    """One record of `Table.records`. Raises ValueError saying what is wrong with it."""
    own_text, *free = record.split(FIELD)
    own = own_text.split("|")
    if len(own) != len(_OWN) or len(free) != len(_FREE):
        raise ValueError(f"its row has {len(own)} and {len(free)} fields, not {len(_OWN)} and {len(_FREE)}")
    fields = dict(zip(_OWN + _FREE, own + free, strict=True))
    named = _named(fields)
    if not _ID.fullmatch(named["id"]):
        raise ValueError("it has no job id")
    return QueueRow(
        **named,
        alone=_alone(fields),
        shares=fields["OverSubscribe"] == "YES",
        named=f"{fields['ReqNodes']}|{fields['ExcNodes']}",
        **{key: read(fields[column]) for key, (column, read, _) in _READ.items()},
    )


def salvage(record: str) -> QueueRow | None:
    """What there is to be had of a record that `decode` refuses, `odd` naming the rest; None when it names no job.

    A part, Slurm's own or the free texts, that has another number of fields than it should is not believed at all.
    """
    own_text, *free = record.split(FIELD)
    own = own_text.split("|")
    fields = dict(zip(_FREE, free, strict=True)) if len(free) == len(_FREE) else {}
    if len(own) == len(_OWN):
        fields.update(zip(_OWN, own, strict=True))
    odd: list[str] = []
    if len(fields) != len(_OWN) + len(_FREE):
        odd.append(f"its row has {len(own)} and {len(free)} fields, not {len(_OWN)} and {len(_FREE)}")
    found: dict[str, Any] = {}
    for key, (column, read, default) in _READ.items():
        found[key] = default
        if column in fields:
            try:
                found[key] = read(fields[column])
            except ValueError as error:
                odd.append(f"{column}: {error}")
    named = _named(fields if len(own) == len(_OWN) else _first_two(own))
    if not _ID.fullmatch(named["id"]) or not _NUMBER.fullmatch(named["raw_id"]):
        return None
    return QueueRow(
        **named,
        alone=_alone(fields),
        shares=fields.get("OverSubscribe") == "YES",
        named="",
        odd="; ".join(odd),
        **found,
    )


def _first_two(own: Sequence[str]) -> dict[str, str]:
    """The ids with which a row begins that has too few or too many fields, if they fit together."""
    task, raw = own[0], own[1] if len(own) > 1 else ""
    if "_" not in task and task != raw:
        return {}
    return {"JobArrayID": task, "JobID": raw}


def _named(fields: Mapping[str, str]) -> dict[str, Any]:
    """The ids of a job."""
    het, task = values.text(fields.get("HetJobID", "")), fields.get("JobArrayID", "")
    raw = fields.get("JobID", "")
    array = task.partition("_")[0] if "_" in task else ""
    return {"id": raw if het else task, "raw_id": raw, "het_id": het, "array_id": array}


def _alone(fields: Mapping[str, str]) -> bool:
    """Slurm 26.05 says NO in OverSubscribe of every plain job; what it is asked for there, older ones leave empty."""
    exclusive = values.text(fields.get("Exclusive", ""))
    return exclusive != "NO" if exclusive else fields.get("OverSubscribe", "") in _NOT_SHARED

"""squeue's table: how it is asked for, and its rows decoded, whatever users write into names and comments.

Users choose names, comments, accounts and constraints, and Slurm prints them as they are: line breaks, separators,
control characters. So every call makes up a word that nobody can guess. It ends each of the free texts and, in another
form, each row. Whatever a user writes, it cannot end a field or forge a row. The fields before them are Slurm's own
and separated by `|`. A row that does not decode is named in a fault, never dropped silently.
"""

import secrets
from dataclasses import dataclass

from scheduler.adapters.slurm import values

_OWN = (
    "JobArrayID", "JobID", "HetJobID", "State", "PriorityLong", "RestartCnt", "BatchFlag", "Requeue", "SubmitTime",
    "StartTime", "EligibleTime", "TimeLimit", "NumNodes", "NumCPUs", "OverSubscribe", "tres-alloc", "tres-per-job",
    "tres-per-node", "tres-per-socket", "tres-per-task", "cpus-per-tres", "mem-per-tres", "NodeList",
)  # fmt: skip
_FREE = (
    "Partition", "UserName", "Reason", "Dependency", "Reservation", "QOS", "Account", "WCKey", "Feature", "Comment",
    "Name",
)  # fmt: skip

_TEXTS = {
    "per_job": "tres-per-job",
    "per_node": "tres-per-node",
    "per_socket": "tres-per-socket",
    "per_task": "tres-per-task",
    "cpus_per_tres": "cpus-per-tres",
    "mem_per_tres": "mem-per-tres",
    "reason": "Reason",
    "dependency": "Dependency",
    "reservation": "Reservation",
    "qos": "QOS",
    "account": "Account",
    "wckey": "WCKey",
    "feature": "Feature",
    "comment": "Comment",
}

# Stands for the mark in decoded records. Slurm's texts are C strings: they cannot hold it.
FIELD = "\x00"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of squeue: a job, a task of an array, or a component of a heterogeneous job.

    `id` is what commands take; `raw_id` Slurm's own number (for a pending task that of its array). Times are epoch
    seconds. `node_list` and the `per_…` texts are undecoded. `asked` is the part of the row that a request is made of.
    """

    id: str
    raw_id: str
    het_id: str
    array_id: str
    state: str
    priority: int
    restarts: int
    batch: bool
    requeue: bool
    submit: int
    start: int | None
    eligible: int | None
    limit_s: int | None
    nodes: int
    cpus: int
    sharing: str
    tres: str
    per_job: str
    per_node: str
    per_socket: str
    per_task: str
    cpus_per_tres: str
    mem_per_tres: str
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

    @property
    def asked(self) -> tuple[str, ...]:
        """What tells one request from another (as far as squeue shows it)."""
        return (
            self.tres, self.per_job, self.per_node, self.per_socket, self.per_task, self.cpus_per_tres,
            self.mem_per_tres, self.sharing, self.feature, str(self.nodes), str(self.cpus), *self.partitions,
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


def decode(record: str) -> Row:
    """One record of `Table.records`. Raises ValueError saying what is wrong with it."""
    own_text, *free = record.split(FIELD)
    own = own_text.split("|")
    if len(own) != len(_OWN) or len(free) != len(_FREE):
        raise ValueError(f"its row has {len(own)} and {len(free)} fields, not {len(_OWN)} and {len(_FREE)}")
    fields = dict(zip(_OWN + _FREE, own + free, strict=True))
    submit = values.moment(fields["SubmitTime"])
    if submit is None:
        raise ValueError("it has no submit time")
    het, task = values.text(fields["HetJobID"]), fields["JobArrayID"]
    return Row(
        id=fields["JobID"] if het else task,
        raw_id=fields["JobID"],
        het_id=het,
        array_id=task.partition("_")[0] if "_" in task else "",
        state=fields["State"],
        priority=values.number(fields["PriorityLong"]),
        restarts=values.number(fields["RestartCnt"]),
        batch=fields["BatchFlag"] == "1",
        requeue=fields["Requeue"] == "1",
        submit=submit,
        start=values.moment(fields["StartTime"]),
        eligible=values.moment(fields["EligibleTime"]),
        limit_s=values.duration(fields["TimeLimit"]),
        nodes=values.number(fields["NumNodes"]),
        cpus=values.number(fields["NumCPUs"]),
        sharing=fields["OverSubscribe"],
        tres=fields["tres-alloc"],
        node_list=values.text(fields["NodeList"]),
        partitions=tuple(filter(None, fields["Partition"].split(","))),
        user=fields["UserName"],
        name=fields["Name"],
        **{key: values.text(fields[name]) for key, name in _TEXTS.items()},
    )

"""`scontrol -o -d show job`: what squeue does not tell, read without believing what users wrote in between.

Wanted from it: the exact share of each node of a running job, and of a pending job the number of nodes it really asks
for, the kind of its memory limit and the nodes it excludes. "One line per job" holds only while no name or comment has
a line break, and a comment may imitate a whole job. So a job's text is found by its number *and* the name and account
that squeue told (through its own unforgeable marks); when two places fit, the job is asked for alone.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scheduler.adapters.slurm import values
from scheduler.adapters.slurm.rows import Row

_HEAD = r"^JobId={id} (?:(?:ArrayJobId|ArrayTaskId|ArrayTaskThrottle|HetJobId|HetJobOffset)=\S+ )*JobName="
_THROTTLE = re.compile(r"ArrayTaskThrottle=(\d+) ")
_BETWEEN = re.compile(r"(?:HetJobIdSet=\S+ )?UserId=[^\n]*? Account=")
_RESTARTS = re.compile(r" JobState=(\S+) .*? Restarts=(\d+) ", re.DOTALL)
_SHAPE = re.compile(
    r" ReqNodeList=(?P<req>\S*) ExcNodeList=(?P<exc>\S*) NodeList=(?P<nodes>\S*) .*?"
    r"\bNumNodes=(?P<min>\d+)(?:-(?P<max>\d+))? NumCPUs=(?P<cpus>\d+)(?:-\d+)? (?:NumTasks=(?P<tasks>\d+) )?"
    r"CPUs/Task=(?P<per_task>\S+) ReqB:S:C:T=(?P<layout>\S+) .*?NtasksPerN:B:S:C=(?P<per_node>\d+):\S+ "
    r"CoreSpec=(?P<spec>\S+) (?P<grants>.*?)MinCPUsNode=(?P<min_cpus>\d+) "
    r"MinMemory(?P<kind>Node|CPU)=(?P<mem>\S+) .*? Contiguous=(?P<contiguous>\d)",
    re.DOTALL,
)
_SOCKETS = re.compile(r" Socks/Node=(\S+) ")
_LICENSES = re.compile(r" Licenses=(\S+) Network=")
_SWITCHES = re.compile(r" Switches=[1-9]")
_JOB_GRES = re.compile(r"JOB_GRES=(\S*)")
_GRANT = re.compile(r"\bNodes=(\S+) CPU_IDs=(\S*) Mem=(\d+) GRES=(\S*)")


@dataclass(frozen=True, slots=True)
class Grant:
    """What each of some nodes gives to a job: CPUs, memory in MB, generic resources under both names."""

    nodes: tuple[str, ...]
    cpus: int
    mem: int
    gres: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Detail:
    """A job as scontrol tells it. `max_nodes` is None when the job did not say how many nodes it wants.

    `mem` is in MB per CPU or per node as `mem_per_cpu` says; 0 per node means all the memory of the node.
    `job_gres` is the sum over the nodes; while a job is completing only this is told, and no node's own part.
    `special` names, for people, the wishes on the inner layout of nodes or the network that we do not plan for.
    `throttle`: how many tasks of its array may run at a time (0: any number). `licenses`: Slurm's own text.
    """

    state: str
    restarts: int
    job_gres: tuple[tuple[str, int], ...]
    grants: tuple[Grant, ...]
    req_nodes: tuple[str, ...]
    exc_nodes: tuple[str, ...]
    min_nodes: int
    max_nodes: int | None
    tasks: int
    cpus_per_task: int
    tasks_per_node: int
    min_cpus: int
    mem: int | None
    mem_per_cpu: bool
    special: tuple[str, ...]
    throttle: int = 0
    licenses: str = ""


class AmbiguousTextError(ValueError):
    """More than one place of the answer looks like the job: somebody imitates it."""


def places(text: str) -> dict[str, list[int]]:
    """Where in an answer lines begin that look like a job's, by its number."""
    found: dict[str, list[int]] = {}
    for match in re.finditer(r"^JobId=(\d+) ", text, re.MULTILINE):
        found.setdefault(match[1], []).append(match.start())
    return found


def find(text: str, row: Row, starts: Iterable[int]) -> Detail | None:
    """The detail of `row`'s job in an answer of many, None when it is not there.

    Raises `AmbiguousTextError` when two places fit, ValueError when the text does not decode.
    """
    fitting = [(start, begin) for start in starts if (begin := _own_text(text, row, start)) is not None]
    if len(fitting) > 1:
        raise AmbiguousTextError("its text is there twice")
    return _decode(text, *fitting[0]) if fitting else None


def find_alone(text: str, row: Row) -> Detail | None:
    """The detail in the answer to a question about this job alone (the answer may begin with other tasks of it)."""
    starts = places(text).get(row.raw_id, [])
    return next(
        (
            _decode(text, start, begin)
            for start in starts
            if (begin := _own_text(text, row, start)) is not None
        ),
        None,
    )


def _own_text(text: str, row: Row, start: int) -> int | None:
    """Behind name and account: from there on Slurm speaks. None when they are not those of `row`."""
    head = re.compile(_HEAD.format(id=re.escape(row.raw_id))).match(text[start : start + 400])
    if not head:
        return None
    after_name = start + head.end() + len(row.name) + 1
    if text[start + head.end() : after_name] != f"{row.name} ":
        return None
    between = _BETWEEN.match(text, after_name)
    account = f"{row.account or '(null)'} QOS="
    if not between or not text.startswith(account, between.end()):
        return None
    return between.end() + len(account)


def _decode(text: str, start: int, begin: int) -> Detail:
    """The job whose text begins at `start`, Slurm's own part of it at `begin`."""
    # The free texts behind (paths, comment) are long; what is wanted stands in the first few thousand characters.
    end = text.find(" Command=", begin)
    own = text[begin : end if end > 0 else None]
    state, shape, sockets = _RESTARTS.search(own), _SHAPE.search(own), _SOCKETS.search(own)
    if not state or not shape:
        raise ValueError("scontrol's text about it does not decode")
    total = _JOB_GRES.match(shape["grants"])
    # Only what stands before the name, which the user chose.
    throttle = _THROTTLE.search(text, start, text.index(" JobName=", start) + 1)
    tail = text[end : text.find("\nJobId=", begin)] if end > 0 else ""
    return Detail(
        state=state[1],
        restarts=int(state[2]),
        job_gres=tuple(values.gres(total[1]).items()) if total else (),
        grants=tuple(_grants(shape["grants"])),
        req_nodes=values.nodes(shape["req"]),
        exc_nodes=values.nodes(shape["exc"]),
        min_nodes=int(shape["min"]),
        max_nodes=int(shape["max"]) if shape["max"] else None,
        tasks=int(shape["tasks"] or 1),
        cpus_per_task=int(shape["per_task"]) if shape["per_task"].isdigit() else 1,
        tasks_per_node=int(shape["per_node"]),
        min_cpus=int(shape["min_cpus"]),
        mem=values.memory(shape["mem"]),
        mem_per_cpu=shape["kind"] == "CPU",
        special=tuple(_special(shape, sockets[1] if sockets else "*", tail)),
        throttle=int(throttle[1]) if throttle else 0,
        licenses=values.text(licenses[1]) if (licenses := _LICENSES.search(own)) else "",
    )


def _grants(text: str) -> Iterator[Grant]:
    for match in _GRANT.finditer(text):
        held = values.gres(match[4])
        yield Grant(values.nodes(match[1]), values.count_of_ids(match[2]), int(match[3]), tuple(held.items()))


def _special(shape: re.Match[str], sockets: str, tail: str) -> Iterator[str]:
    # Boards, sockets, cores, threads: 0 and * mean any.
    if sockets not in {"*", "0"} or any(part not in {"0", "*"} for part in shape["layout"].split(":")):
        yield "sockets, cores or threads of its own choice"
    if shape["spec"] not in {"*", "0", "N/A"}:
        yield "specialised cores"
    if shape["contiguous"] == "1":
        yield "neighbouring nodes"
    if _SWITCHES.search(tail):
        yield "a number of switches"

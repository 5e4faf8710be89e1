"""`scontrol -o -d show job`: what squeue does not tell, read without believing what users wrote in between.

Wanted from it: the exact share of each node of a running job, and of a pending job the number of nodes it really asks
for, the kind of its memory limit and the nodes it excludes. "One line per job" holds only while no name or comment has
a line break, and a comment may imitate a whole job. So a job's text is found by its number *and* the name and account
that squeue told (through its own unforgeable marks); when two places fit, the job is asked for alone. From there to the
job's command Slurm speaks, in words such as `NumNodes=2`: which there are, and in what order, differs between releases,
so they are looked up by name. The first of a name counts: a user's own text (constraint, network) stands behind them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from scheduler.adapters.slurm import values
from scheduler.adapters.slurm.request_words import unmodelled
from scheduler.adapters.slurm.rows import QueueRow

T = TypeVar("T")

_HEAD = r"^JobId={id} (?:(?!JobName=)[A-Za-z]+=\S* )*JobName="
_THROTTLE = re.compile(r"ArrayTaskThrottle=(\d+) ")
_BETWEEN = re.compile(r"(?:[A-Za-z]+=\S* )*?UserId=[^\n]*? Account=")
_WORD = re.compile(r" ([A-Za-z][\w/:]*)=(\S*)")
# What a user wrote may stand from here on.
_FEATURES = " Features="
_NEXT_JOB = re.compile(r"\nJobId=")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MEMORY = "MinMemory"
# The free texts that may stand behind the command, and the last of them: from there on Slurm speaks again. What a user
# imitates there makes only his own job harder to plan for.
_LAST_FREE = (
    " StdOut=", " StdErr=", " StdIn=", " Extra=", " Comment=", " SystemComment=", " AdminComment=", " WorkDir=",
    " SubmitLine=", " Command=",
)  # fmt: skip
_LABEL = re.compile(r" MCS_label=(\S*)")
NEEDED = ("ReqB:S:C:T", "NtasksPerN:B:S:C", "CoreSpec", "Contiguous")
"""Words without which nobody knows what a job asks for."""
_GRANT = re.compile(r"\bNodes=(\S+) CPU_IDs=(\S*) Mem=(\d+) GRES=(\S*)")


@dataclass(frozen=True, slots=True)
class Grant:
    """What each of some nodes gives to a job: CPUs, memory in MB, generic resources under both names."""

    nodes: tuple[str, ...]
    cpus: int
    mem: int
    gres: tuple[tuple[str, int], ...]
    told: str = ""
    """The generic resources in Slurm's words."""


@dataclass(frozen=True, slots=True)
class JobDetails:
    """What scontrol says of one job.

    `words` are Slurm's own, `grants` is the part with the nodes' shares in it, `tail` its own words behind the command
    and the paths; `throttle`: how many tasks of its array may run at a time (0: any number).
    """

    words: Mapping[str, str]
    grants: str
    tail: Mapping[str, str]
    throttle: int = 0


@dataclass(frozen=True, slots=True)
class Granted:
    """What a running job holds.

    `job_gres` is the sum over the nodes; while a job is completing only this is told, and no node's own part.
    `req_nodes`, `exc_nodes`: those that its user named.
    """

    state: str
    job_gres: tuple[tuple[str, int], ...]
    grants: tuple[Grant, ...]
    req_nodes: tuple[str, ...] = ()
    exc_nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Detail:
    """What a pending job asks for. `max_nodes` is None when the job did not say how many nodes it wants.

    `mem` is in MB, per CPU or per node as `mem_per_cpu` says, or per generic resource (`mem_per_tres`; squeue tells of
    which); 0 per node means all the memory of the node.
    `threads_per_core`, `tasks_per_core`: at most so many are used of a core (0: any). `tmp_disk`: MB.
    `names_nodes_twice`: as only a job that lays out its own tasks does (`-m arbitrary`); 26.05 tells.
    `special` names, for people, the wishes that we do not plan for (`request_words`).
    `throttle` as in `Text`. `licenses`: Slurm's own text.
    """

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
    mem_per_tres: bool
    special: tuple[str, ...]
    throttle: int = 0
    licenses: str = ""
    threads_per_core: int = 0
    tasks_per_core: int = 0
    tmp_disk: int = 0
    names_nodes_twice: bool = False


class AmbiguousTextError(ValueError):
    """More than one place of the answer looks like the job: somebody imitates it."""


def places(text: str) -> dict[str, list[int]]:
    """Where in an answer lines begin that look like a job's, by its number."""
    found: dict[str, list[int]] = {}
    for match in re.finditer(r"^JobId=(\d+) ", text, re.MULTILINE):
        found.setdefault(match[1], []).append(match.start())
    return found


def find(text: str, row: QueueRow, starts: Iterable[int]) -> JobDetails | None:
    """What is said of `row`'s job in an answer of many, None when it is not there.

    Raises `AmbiguousTextError` when two places fit.
    """
    fitting = [(start, begin) for start in starts if (begin := _own_text(text, row, start)) is not None]
    if len(fitting) > 1:
        raise AmbiguousTextError("its text is there twice")
    return _cut_out(text, *fitting[0], row) if fitting else None


def find_alone(text: str, row: QueueRow) -> JobDetails | None:
    """The same in the answer to a question about this job alone (it may begin with other tasks of the job)."""
    starts = places(text).get(row.raw_id, [])
    return next(
        (
            _cut_out(text, start, begin, row)
            for start in starts
            if (begin := _own_text(text, row, start)) is not None
        ),
        None,
    )


def _own_text(text: str, row: QueueRow, start: int) -> int | None:
    """Behind name, account and key: from there on Slurm speaks. None when they are not those of `row`."""
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
    begin = between.end() + len(account)
    key = f"{row.qos or '(null)'} WCKey={row.wckey or '(null)'} "
    return begin + len(key) - 1 if text.startswith(key, begin) else begin


def _cut_out(text: str, start: int, begin: int, row: QueueRow) -> JobDetails:
    """The job whose text begins at `start`, Slurm's own part of it at `begin`."""
    # The free texts behind (paths, comment) are long; what is wanted stands in the first few thousand characters.
    end = text.find(" Command=", begin)
    own = text[begin : end if end > 0 else None]
    name_ends = text.index(" JobName=", start) + 1
    # Only what stands before the name, which the user chose.
    throttle = _THROTTLE.search(text, start, name_ends)
    label = _LABEL.search(text, name_ends + len("JobName=") + len(row.name), begin)
    words = dict(reversed(_WORD.findall(own)))
    return JobDetails(
        words=words | ({"MCS_label": label[1]} if label else {}),
        grants=own.partition(_FEATURES)[0],
        tail=dict(_WORD.findall(_behind_paths(text, end, row))) if end > 0 else {},
        throttle=int(throttle[1]) if throttle else 0,
    )


def _behind_paths(text: str, end: int, row: QueueRow) -> str:
    """What Slurm says behind the free texts, whose last one still stands in front."""
    following = _NEXT_JOB.search(text, end)
    tail = text[end : following.start() if following else None]
    if row.comment:
        tail = tail.replace(f" Comment={row.comment}", "")
    last = next((at for free in _LAST_FREE if (at := tail.rfind(free)) >= 0), 0)
    return tail[last:]


def granted(text: JobDetails) -> Granted:
    """The shares of a running job. Raises ValueError when they do not decode."""
    return Granted(
        state=text.words.get("JobState", ""),
        job_gres=tuple(values.gres(text.words.get("JOB_GRES", "")).items()),
        grants=tuple(_grants(text.grants)),
        req_nodes=values.nodes(text.words.get("ReqNodeList", "")),
        exc_nodes=values.nodes(text.words.get("ExcNodeList", "")),
    )


def _grants(text: str) -> Iterator[Grant]:
    for match in _GRANT.finditer(text):
        held = values.gres(match[4])
        yield Grant(
            values.nodes(match[1]),
            values.count_of_ids(match[2]),
            values.number(match[3]),
            tuple(held.items()),
            match[4],
        )


def wishes(text: JobDetails) -> Detail:
    """What a pending job asks for. Raises ValueError naming the word that is not there or not understood."""
    words = text.words
    least, most = _read(words, "NumNodes", _range)
    kind = next((key.removeprefix(_MEMORY) for key in words if key.startswith(_MEMORY)), "")
    if kind not in {"CPU", "Node", "TRES"}:
        raise ValueError(f"its memory {_MEMORY}{kind[:40]} is not understood")
    per_task = _read(words, "CPUs/Task", str)
    layout, packed = (_read(words, key, str).split(":") for key in NEEDED[:2])
    for key in NEEDED:
        _read(words, key, str)
    return Detail(
        req_nodes=_read(words, "ReqNodeList", values.nodes),
        exc_nodes=_read(words, "ExcNodeList", values.nodes),
        min_nodes=least,
        max_nodes=most,
        tasks=_first(_read(words, "NumTasks", _range)) if "NumTasks" in words else 1,
        cpus_per_task=values.number(per_task) if per_task.isdigit() else 1,
        tasks_per_node=_read(words, NEEDED[1], lambda word: values.number(word.partition(":")[0])),
        min_cpus=_read(words, "MinCPUsNode", values.number),
        mem=_read(words, f"{_MEMORY}{kind}", values.memory),
        mem_per_cpu=kind == "CPU",
        mem_per_tres=kind == "TRES",
        special=tuple(unmodelled([*words.items(), *text.tail.items()])),
        throttle=text.throttle,
        licenses=values.text(words.get("Licenses", "")),
        threads_per_core=_limit(layout),
        tasks_per_core=_limit(packed),
        names_nodes_twice=values.count_of_nodes(words["ReqNodeList"])
        > len(values.nodes(words["ReqNodeList"])),
        tmp_disk=_read(words, "MinTmpDiskNode", values.memory) or 0 if "MinTmpDiskNode" in words else 0,
    )


def _read(words: Mapping[str, str], key: str, read: Callable[[str], T]) -> T:
    """A word that has to be there, decoded."""
    if key not in words:
        raise ValueError(f"its {key} is not told")
    try:
        return read(words[key])
    except ValueError as error:
        raise ValueError(f"its {key}={words[key][:40]} is not understood") from error


def _range(word: str) -> tuple[int, int | None]:
    match = _RANGE.fullmatch(word)
    if not match:
        raise ValueError(f"{word[:40]!r} is no number, nor from one to another")
    return values.number(match[1]), values.number(match[2]) if match[2] else None


def _first(pair: tuple[int, int | None]) -> int:
    return pair[0]


def _limit(parts: Sequence[str]) -> int:
    """The last of several numbers; 0 where it is any."""
    return int(parts[-1]) if parts[-1].isdecimal() else 0

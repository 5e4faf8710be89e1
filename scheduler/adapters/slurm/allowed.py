"""What may be run of Slurm's programs: the allow-list, and what an id, a node or a user looks like in an argument."""

import re
from collections.abc import Mapping, Sequence

from scheduler.adapters.slurm.errors import CommandNotAllowedError

JOB_ID = r"[1-9]\d{0,9}(?:_\d{1,10})?"
_ID_LIST = rf"{JOB_ID}(?:,{JOB_ID})*"
_MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_TASKS = r"[1-9]\d{0,9}_\[\d{1,10}(?:[,-]\d{1,10})*\]"
_ID_OR_TASKS = rf"(?:{JOB_ID}|{_TASKS})"
_NODE_LIST = r"[A-Za-z0-9][\w.-]{0,63}(?:,[A-Za-z0-9][\w.-]{0,63}){0,1999}"
_NODE = r"[A-Za-z0-9][\w.-]{0,63}"
KEPT_FOR = "giveway_"
"""How the names of our own reservations begin; then comes the id of the job (see keeping.py)."""
_KEPT = rf"{KEPT_FOR}{JOB_ID}"
_USER = r"[A-Za-z_][\w.-]{0,63}"
_TOPOLOGY = r"[\w.][\w.-]{0,63}"
_JOB_ID = re.compile(JOB_ID)
_SIGNAL = re.compile(r"[A-Z][A-Z0-9+]{1,15}|[1-9]\d?")

# What may be run: per program and verb, each argument must match one of these patterns as a whole.
ALLOWED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("squeue", ""): (
        "--noheader", "--array", "--all", "--local", r"--Format=.+", "--states=all",
        "--json", rf"--jobs={_ID_LIST}",
    ),
    ("squeue", "--version"): ("--version",),
    ("sdiag", ""): (),
    ("scontrol", "show job"): ("--oneliner", "--details", "--all", "show", "job", JOB_ID),
    ("scontrol", "show nodes"): ("--oneliner", "--details", "--all", "show", "nodes"),
    ("scontrol", "show node"): ("--oneliner", "--all", "show", "node", _NODE),
    ("scontrol", "show partitions"): ("--oneliner", "--all", "show", "partitions"),
    ("scontrol", "show licenses"): ("--oneliner", "--all", "show", "licenses"),
    ("scontrol", "show reservations"): ("--oneliner", "--all", "show", "reservations"),
    ("scontrol", "show topology"): ("--oneliner", "--all", "show", "topology", _TOPOLOGY),
    ("scontrol", "show config"): ("--all", "show", "config"),
    ("scontrol", "ping"): ("ping",),
    ("scontrol", "update"): (
        "update", rf"JobId={_ID_OR_TASKS}(?:,{_ID_OR_TASKS})*", r"Priority=\d{1,10}", r"Nice=-?\d{1,10}",
        rf"StartTime={_MOMENT}",
        r"NumNodes=([1-9]\d{0,4})-\1", r"NumTasks=[1-9]\d{0,8}", r"NumCPUs=[1-9]\d{0,8}", rf"NodeList={_NODE_LIST}",
        "Requeue=1", r"AdminComment=[^\x00-\x1f\x7f]{0,1000}",
        "ReservationName=giveway-doctor",  # there is none: see checkup.py
        rf"ReservationName=(?:{_KEPT})?", rf"Nodes={_NODE_LIST}", rf"EndTime={_MOMENT}",
        rf"NodeName={_NODE}", "State=DRAIN", "State=UNDRAIN", r"Reason=giveway: [^\x00-\x1f\x7f]{1,200}",
    ),
    ("scontrol", "create"): (
        "create", "reservation", rf"ReservationName={_KEPT}", rf"Nodes={_NODE_LIST}", "StartTime=now",
        rf"EndTime={_MOMENT}", rf"Users={_USER}", "Flags=IGNORE_JOBS,FLEX,NO_HOLD_JOBS_AFTER",
    ),
    ("scontrol", "delete"): ("delete", rf"ReservationName={_KEPT}"),
    ("scontrol", "hold"): ("hold", _ID_LIST),
    ("scontrol", "release"): ("release", _ID_LIST),
    ("scontrol", "requeue"): ("requeue", _ID_LIST),
    ("scontrol", "requeuehold"): ("requeuehold", _ID_LIST),
    ("sacctmgr", "show associations"): (
        "--noheader", "--parsable2", "--readonly", "show", "associations", r"cluster=[\w.-]{1,64}",
        r"format=[\w%,]+",
    ),
    ("sacct", ""): (
        "--noheader", "--parsable2", "--allocations", "--allusers", "--duplicates", r"--format=[\w,]+",
        rf"--jobs={_ID_LIST}", r"--state=[A-Z,]+", rf"--starttime={_MOMENT}", rf"--endtime={_MOMENT}",
        "--delimiter=[0-9a-f]{16}",
    ),
    ("sbatch", ""): (
        "--parsable", r"--job-name=[a-z][a-z-]{0,31}", r"--partition=[\w.-]{1,64}", rf"--nodelist={_NODE_LIST}",
        "--nodes=1", "--ntasks=1", "--exclusive", r"--time=[1-9]\d{0,4}", r"--nice=\d{1,10}", "--no-requeue",
        "--output=/dev/null", "--error=/dev/null", "--export=PATH=/usr/local/bin:/usr/bin:/bin",
        rf"--deadline={_MOMENT}", r"--gres=gpu:[1-9]\d{0,2}",
    ),
    ("scancel", ""): ("--batch", "--full", rf"--signal=(?:{_SIGNAL.pattern})", JOB_ID),
}  # fmt: skip

# scontrol takes any beginning of a name from six letters on (`NumNod=2`), in any case, with `=`, `+=` and `-=`.
_SIZES = ("numnod", "nodeli", "numtas", "numcpu")
# The two forms in which a size is sent: slurmctld refuses the first one of a job that runs, because of its tasks.
_SIZED = (("JobId", "NumNodes", "NumTasks", "NumCPUs"), ("JobId", "NodeList"))


def is_job_id(text: str) -> bool:
    """Whether `text` is a job id as commands take it (`1234` or `1234_7`)."""
    return _JOB_ID.fullmatch(text) is not None


def is_signal(text: str) -> bool:
    """Whether `text` is a signal's name or number as scancel takes it (`USR1`, `10`)."""
    return _SIGNAL.fullmatch(text) is not None


def is_user(text: str) -> bool:
    """Whether `text` is a name of a user that can be told to scontrol."""
    return re.fullmatch(_USER, text, re.ASCII) is not None


def kept_for(reservation: str) -> str:
    """The id of the job that a reservation of ours is for; empty for one of somebody else."""
    found = re.fullmatch(_KEPT, reservation, re.ASCII)
    return reservation.removeprefix(KEPT_FOR) if found else ""


def is_topology(text: str) -> bool:
    """Whether `text` is a name of a topology that can be told to scontrol."""
    return re.fullmatch(_TOPOLOGY, text, re.ASCII) is not None


def is_node(text: str) -> bool:
    """Whether `text` is the name of one node."""
    return re.fullmatch(_NODE, text, re.ASCII) is not None


def is_node_list(text: str) -> bool:
    """Whether `text` is names of nodes with commas between them, without ranges."""
    return re.fullmatch(_NODE_LIST, text, re.ASCII) is not None


def _verb(program: str, arguments: Sequence[str]) -> str:
    words = [argument for argument in arguments if not argument.startswith("--")]
    if program in {"scontrol", "sacctmgr"}:
        return " ".join(words[:2]) if words[:1] == ["show"] else "".join(words[:1])
    return "--version" if "--version" in arguments else ""


def check(program: str, arguments: Sequence[str]) -> None:
    """Raise `CommandNotAllowedError` unless the command and each argument is on the allow-list."""
    _check_sizes(arguments)
    patterns = ALLOWED.get((program, _verb(program, arguments)))
    if patterns is None:
        raise CommandNotAllowedError(f"{program} {_verb(program, arguments)!r} is not on the allow-list")
    for argument in arguments:
        if "\x00" in argument or not any(re.fullmatch(p, argument, re.DOTALL) for p in patterns):
            raise CommandNotAllowedError(f"{program}: the argument {argument!r} is not on the allow-list")
    if "--full" in arguments and not any(argument.startswith("--signal=") for argument in arguments):
        raise CommandNotAllowedError("scancel --full: without a signal it would end the job")


def _check_sizes(arguments: Sequence[str]) -> None:
    """A size goes to slurmctld for one job at a time, in one of two forms, with nothing beside it."""
    if "update" not in arguments:
        return
    sizes = [argument for argument in arguments if argument.lower().startswith(_SIZES)]
    if not sizes:
        return
    names = tuple(argument.partition("=")[0] for argument in arguments[1:])
    if arguments[0] != "update" or names not in _SIZED or not is_job_id(arguments[1].partition("=")[2]):
        raise CommandNotAllowedError(
            f"scontrol update {sizes[0][:80]!r}: no job is resized in this form. slurmctld 24.11 and 26.05 die "
            "when a job is shrunk whose step holds GPUs"
        )

"""What users can ask of Slurm about where and how a job is placed, and what becomes of each: the table.

`WORDS`: each word of `scontrol show job`, as 22.05 to 26.05 write it. `OPTIONS`: each option of sbatch, salloc and srun
that could limit a placement, with the words by which Slurm shows it. A word or a value that is in no row **blocks**:
nobody is stopped for such a job, because it might not start in the room that is made. docs/slurm-requests.md is made
from this (`as_markdown`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

ANY = frozenset({"", "0", "*", "(null)", "N/A", "None", "NONE", "n/a"})
"""Values that ask for nothing."""


class Treatment(StrEnum):
    """What becomes of a word."""

    MODELLED = "modelled"
    """Its value is part of the request, or is looked at elsewhere."""
    HARMLESS = "does not matter"
    """Whatever its value, the job starts in the same room."""
    BLOCKS = "blocks"
    """With a value that asks for anything nobody is stopped for the job."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of scontrol. `nothing`: the values with which one that blocks does not; `known`: all values that one can
    have that is modelled (None: its decoder sees to that). `says`: what it asks for, for people."""

    treatment: Treatment
    says: str = ""
    nothing: frozenset[str] = ANY
    known: re.Pattern[str] | None = None


def _harmless(*names: str) -> dict[str, Word]:
    return dict.fromkeys(names, Word(Treatment.HARMLESS))


def _modelled(*names: str, known: str = "") -> dict[str, Word]:
    return dict.fromkeys(names, Word(Treatment.MODELLED, known=re.compile(known) if known else None))


def _blocks(name: str, says: str, *nothing: str) -> dict[str, Word]:
    return {name: Word(Treatment.BLOCKS, says, ANY | set(nothing))}


_SHARING = r"OK|NO|YES|NODE|USER|MCS"
WORDS: Mapping[str, Word] = {
    # Who it is of, when it runs, where its files are.
    **_harmless(
        "JobId", "ArrayJobId", "ArrayTaskId", "HetJobId", "HetJobOffset", "HetJobIdSet", "JobName", "SLUID", "UserId",
        "GroupId", "Account", "QOS", "WCKey", "Priority", "Nice", "JobState", "Reason", "FailedNode", "Requeue",
        "Restarts", "BatchFlag", "ExitCode", "DerivedExitCode", "RunTime", "TimeMin", "SubmitTime", "AccrueTime",
        "StartTime", "EndTime", "SuspendTime", "SecsPreSuspend", "PreemptTime", "PreemptEligibleTime", "ResizeTime",
        "LastSchedEval", "Scheduler", "AllocNode:Sid", "NodeList", "SchedNodeList", "BatchHost", "CronJob",
        "CrontabSpec", "AllocTRES", "JOB_GRES", "Nodes", "CPU_IDs", "Mem", "GRES", "LicensesAlloc", "Command",
        "SubmitLine", "WorkDir", "AdminComment", "SystemComment", "Comment", "Extra", "StdErr", "StdIn", "StdOut",
        "MailUser", "MailType", "KillOInInvalidDependent", "KillOnInvalidDependent", "OOMKillStep", "StepMgrEnabled",
        "Container", "ContainerID", "ContainerType", "CPU_min_freq", "CPU_max_freq", "Governor", "TresBind", "TresFreq",
        # Only a wish: without it the job starts too.
        "Prefer", "DelayBoot",
    ),
    # Looked at elsewhere: squeue tells them.
    **_modelled("ArrayTaskThrottle", "Dependency", "TimeLimit", "EligibleTime", "Deadline", "Partition", "Reservation"),
    **_modelled(
        "ReqNodeList", "ExcNodeList", "NumNodes", "NumCPUs", "NumTasks", "CPUs/Task", "TRES", "ReqTRES", "MinCPUsNode",
        "MinMemoryCPU", "MinMemoryNode", "MinMemoryTRES", "MinTmpDiskNode", "Features", "Licenses", "CpusPerTres",
        "MemPerTres", "TresPerJob", "TresPerNode", "TresPerTask",
    ),
    **_modelled("ReqB:S:C:T", known=r"0:0:[0*]:(?:[0*]|\d+)"),
    **_modelled("NtasksPerN:B:S:C", known=r"\d+:0:[0*]:(?:[0*]|\d+)"),
    **_modelled("OverSubscribe", "Exclusive", known=_SHARING),
    **_blocks("Socks/Node", "sockets of its own choice"),
    **_blocks("TresPerSocket", "GPUs per socket"),
    **_blocks("GresEnforceBind", "GPUs and cores of the same socket", "No"),
    **_blocks("GresOneTaskPerSharing", "tasks with shards of their own", "No"),
    **_blocks("GresAllowTaskSharing", "tasks that share GPUs", "No"),
    **_blocks("NtasksPerTRES", "tasks per GPU", "65534"),
    **_blocks("CoreSpec", "specialised cores"),
    **_blocks("ThreadSpec", "specialised threads"),
    **_blocks("Contiguous", "neighbouring nodes"),
    **_blocks("Switches", "a number of switches"),
    **_blocks("SegmentSize", "nodes in segments"),
    **_blocks("SpreadSegments", "segments that are spread"),
    **_blocks("ConsolidateSegments", "segments that are close together"),
    **_blocks("SpreadJob", "as many nodes as there are", "No"),
    **_blocks("BatchFeatures", "a feature of its first node"),
    **_blocks("ClusterFeatures", "a feature of clusters"),
    **_blocks("FedOrigin", "a federation of clusters"),
    **_blocks("FedViableSiblings", "a federation of clusters"),
    **_blocks("FedActiveSiblings", "a federation of clusters"),
    **_blocks("Network", "something of the network"),
    **_blocks("Power", "a kind of power management"),
    **_blocks("Reboot", "nodes that are rebooted first"),
    **_blocks("BurstBuffer", "a burst buffer"),
    **_blocks("BurstBufferState", "a burst buffer"),
    **_blocks("ResvPorts", "ports that are kept for it"),
    **_blocks("MCS_label", "nodes of one security label"),
}  # fmt: skip


def asks(name: str, value: str) -> str:
    """What a word asks for that is not modelled, with the word itself; empty where there is no such thing."""
    word = WORDS.get(name)
    shown = f"{name[:30]}={value[:30]}"
    if word is None:
        return f"what {shown} means, which is not known here"
    if word.treatment is Treatment.BLOCKS and value not in word.nothing:
        return f"{word.says} ({shown})"
    if word.known is not None and not word.known.fullmatch(value):
        return f"something that is not modelled ({shown})"
    return ""


def unmodelled(words: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The same of many words, each once."""
    yield from dict.fromkeys(filter(None, (asks(name, value) for name, value in words)))


@dataclass(frozen=True, slots=True)
class Option:
    """An option of sbatch, salloc or srun, or one of its values.

    `shown`: the words of scontrol by which Slurm shows it. `why`: of one that Slurm does not show, why nobody is
    stopped in vain for it. `tried`: arguments with which it is submitted by a test on each release.
    """

    name: str
    treatment: Treatment
    shown: tuple[str, ...] = ()
    why: str = ""
    tried: tuple[str, ...] = ()


def _options(treatment: Treatment, *rows: tuple[str, str, str]) -> tuple[Option, ...]:
    """Rows of name, words and what is tried."""
    return tuple([
        Option(name, treatment, tuple(words.split()), tried=(tried,) if tried else ())
        for name, words, tried in rows
    ])  # fmt: skip


_MEM = "MinMemoryCPU MinMemoryNode MinMemoryTRES"
OPTIONS: tuple[Option, ...] = (
    *_options(
        Treatment.MODELLED,
        ("--array", "ArrayTaskThrottle", "--array=1-2%2"),
        ("--begin", "EligibleTime", ""),
        ("--constraint", "Features", "-C f1"),
        ("--cpus-per-gpu", "CpusPerTres", "--cpus-per-gpu=1 --gpus=1"),
        ("--cpus-per-task", "CPUs/Task MinCPUsNode", "-c3"),
        ("--deadline", "Deadline", "--deadline=now+10days"),
        ("--dependency", "Dependency", ""),
        ("--exclude", "ExcNodeList", "--exclude=n2"),
        ("--exclusive", "OverSubscribe Exclusive", "--exclusive"),
        ("--exclusive=mcs", "OverSubscribe Exclusive", "--exclusive=mcs"),
        ("--exclusive=user", "OverSubscribe Exclusive", "--exclusive=user"),
        ("--gpus", "TresPerJob", "--gpus=2"),
        ("--gpus-per-node", "TresPerNode", "--gpus-per-node=1"),
        ("--gpus-per-task", "TresPerTask", "--gpus-per-task=1"),
        ("--gres", "TresPerNode", "--gres=npu:2"),
        ("--hint=compute_bound", "ReqB:S:C:T", "--hint=compute_bound"),
        ("--hint=nomultithread", "ReqB:S:C:T", "--hint=nomultithread"),
        ("--hold", "Priority", ""),
        ("--licenses", "Licenses", "-L lic:1"),
        ("--mem", _MEM, "--mem=100"),
        ("--mem-per-cpu", _MEM, "--mem-per-cpu=100"),
        ("--mem-per-gpu", f"{_MEM} MemPerTres", "--mem-per-gpu=100 --gpus=1"),
        ("--mincpus", "MinCPUsNode", "--mincpus=3"),
        ("--nodefile", "ReqNodeList", ""),
        ("--nodelist", "ReqNodeList", "-w n1"),
        ("--nodes", "NumNodes", "-N2"),
        ("--ntasks", "NumTasks", "-n3"),
        ("--ntasks-per-core", "NtasksPerN:B:S:C", "--ntasks-per-core=1"),
        ("--ntasks-per-node", "NtasksPerN:B:S:C", "--ntasks-per-node=1"),
        ("--overcommit", "NumCPUs TRES ReqTRES", "-O"),
        ("--oversubscribe", "OverSubscribe", "-s"),
        ("--partition", "Partition", ""),
        ("--reservation", "Reservation", ""),
        ("--threads-per-core", "ReqB:S:C:T", "--threads-per-core=1"),
        ("--time", "TimeLimit", "-t5"),
        ("--tmp", "MinTmpDiskNode", "--tmp=10"),
        ("--tres-per-task", "TresPerTask CPUs/Task", "--tres-per-task=cpu=2"),
    ),
    *_options(
        Treatment.BLOCKS,
        ("--batch", "BatchFeatures", "--batch=f1 -C f1"),
        ("--bb", "BurstBuffer", "--bb=x"),
        ("--bbf", "BurstBuffer", ""),
        ("--cluster-constraint", "ClusterFeatures", "--cluster-constraint=x"),
        ("--clusters", "FedOrigin FedViableSiblings FedActiveSiblings", ""),
        ("--consolidate-segments", "ConsolidateSegments", "--consolidate-segments --segment=1"),
        ("--contiguous", "Contiguous", "--contiguous"),
        ("--cores-per-socket", "ReqB:S:C:T", "--cores-per-socket=2"),
        ("--exclusive=topo", "OverSubscribe Exclusive", "--exclusive=topo"),
        ("--extra-node-info", "Socks/Node ReqB:S:C:T", "-B 1"),
        ("--gpus-per-socket", "TresPerSocket Socks/Node", "--gpus-per-socket=1 --sockets-per-node=1"),
        ("--gres-flags=enforce-binding", "GresEnforceBind", "--gres=gpu:1 --gres-flags=enforce-binding"),
        ("--hint=memory_bound", "ReqB:S:C:T", "--hint=memory_bound"),
        ("--mcs-label", "MCS_label", "--mcs-label=l"),
        ("--network", "Network", "--network=sn_single"),
        ("--ntasks-per-gpu", "NtasksPerTRES", "--gpus=1 --ntasks-per-gpu=2"),
        ("--ntasks-per-socket", "NtasksPerN:B:S:C", "--ntasks-per-socket=1"),
        ("--power", "Power", "--power=level"),
        ("--reboot", "Reboot", "--reboot"),
        ("--sockets-per-node", "Socks/Node", "--sockets-per-node=1"),
        ("--spread-job", "SpreadJob", "--spread-job"),
        ("--spread-segments", "SpreadSegments", "--spread-segments --segment=1"),
        ("--switches", "Switches", "--switches=1"),
    ),
    Option("--core-spec", Treatment.BLOCKS, ("CoreSpec",), "Without AllowSpecResourcesUsage Slurm forgets it."),
    Option("--thread-spec", Treatment.BLOCKS, ("CoreSpec", "ThreadSpec"), "As --core-spec."),
    Option(
        "--distribution=arbitrary", Treatment.BLOCKS, (),
        "Slurm does not show it. It needs the names of all nodes: a job that names several, with more tasks than nodes "
        "and no number of tasks for each, blocks.",
        ("-m arbitrary -w n1,n2 -n3",),
    ),
    Option(
        "--gres-flags=one-task-per-sharing", Treatment.BLOCKS, ("GresOneTaskPerSharing",),
        "Shards, with MULTIPLE_SHARING_GRES_PJ only, with which jobs with shards block.",
    ),
    Option(
        "--segment", Treatment.BLOCKS, ("SegmentSize",),
        "24.11 does not show it: with topology/block a job of several nodes blocks there.",
    ),
    Option("--resources", Treatment.BLOCKS, (), "26.05: a word that is in no row."),
    Option("--resv-ports", Treatment.BLOCKS, ("ResvPorts",), "Not shown before it starts; needs the step manager."),
    Option("--relative", Treatment.HARMLESS, (), "Of steps."),
    *(
        Option(name, Treatment.HARMLESS, tuple(words.split()), why, (tried,) if tried else ())
        for name, words, why, tried in (
            ("--delay-boot", "DelayBoot", "A job that needs a reboot blocks.", "--delay-boot=5"),
            ("--distribution", "", "Where tasks go within the room.", "-m cyclic"),
            ("--extra", "Extra", "With SchedulerParameters=extra_constraints every job blocks.", "--extra=a"),
            ("--gpu-bind", "TresBind", "Which tasks see which GPUs.", "--gpus=1 --gpu-bind=closest"),
            ("--gres-flags=disable-binding", "GresEnforceBind", "", "--gres=gpu:1 --gres-flags=disable-binding"),
            ("--hint=multithread", "", "What is the rule anyway.", "--hint=multithread"),
            ("--immediate", "", "It waits for nothing, so it is not in the queue.", ""),
            ("--no-kill", "", "Of running jobs.", "--no-kill"),
            ("--prefer", "Prefer", "Only a wish.", "--prefer=f1"),
            ("--time-min", "TimeMin", "The time limit may be lowered.", "--time-min=1"),
            ("--tres-bind", "TresBind", "As --gpu-bind.", "--gpus=1 --tres-bind=gres/gpu:closest"),
            ("--use-min-nodes", "", "Which nodes are tried first.", "--use-min-nodes"),
            ("--wait-all-nodes", "", "When the script begins.", "--wait-all-nodes=1"),
        )
    ),
)  # fmt: skip

NOT_ABOUT_PLACEMENT = frozenset({
    "--accel-bind", "--account", "--acctg-freq", "--admin-comment", "--async", "--bcast", "--bcast-exclude", "--bell",
    "--chdir", "--comment", "--compress", "--container", "--container-id", "--container-type", "--cpu-bind",
    "--cpu-freq", "--disable-status", "--epilog", "--error", "--exact", "--export", "--export-file", "--external",
    "--external-launcher", "--get-user-env", "--gid", "--gpu-freq", "--help", "--het-group", "--ignore-pbs",
    "--ignore-signals", "--input", "--job-name", "--jobid", "--kill-command", "--kill-on-bad-exit",
    "--kill-on-invalid-dep", "--label", "--mail-type", "--mail-user", "--mem-bind", "--mem-update", "--mpi",
    "--msg-timeout", "--multi-prog", "--nice", "--no-allocate", "--no-bell", "--no-requeue", "--no-shell",
    "--oom-kill-step", "--open-mode", "--output", "--overlap", "--parsable", "--preserve-env", "--priority",
    "--profile", "--prolog", "--propagate", "--pty", "--qos", "--quiet", "--quit-on-interrupt", "--requeue",
    "--send-libs", "--signal", "--slurmd-debug", "--stepmgr", "--task-epilog", "--task-prolog", "--test-only",
    "--threads", "--treewidth", "--uid", "--unbuffered", "--usage", "--verbose", "--version", "--wait",
    "--wait-for-children", "--wckey", "--wrap",
})  # fmt: skip
"""Options that say nothing of where or how a job is placed. Limits of accounts and QOS are Slurm's reason, which
blocks."""


def is_in_table(option: str) -> bool:
    """Whether an option of Slurm's commands is in a row."""
    return option in NOT_ABOUT_PLACEMENT or any(row.name.partition("=")[0] == option for row in OPTIONS)


def as_markdown() -> str:
    """The tables of docs/slurm-requests.md."""
    lines = ["| option | shown by | | |", "|---|---|---|---|"]
    for row in sorted(OPTIONS, key=lambda row: row.name):
        shown = ", ".join(f"`{word}`" for word in row.shown) or "–"
        lines.append(f"| `{row.name}` | {shown} | {_told(row.treatment)} | {row.why} |")
    lines += ["", "| word | | asks for | values that ask for nothing |", "|---|---|---|---|"]
    for name, word in sorted(WORDS.items()):
        if word.treatment is not Treatment.HARMLESS:
            nothing = ", ".join(f"`{value}`" for value in sorted(word.nothing - ANY))
            lines.append(f"| `{name}` | {_told(word.treatment)} | {word.says} | {nothing} |")
    harmless = sorted(name for name, word in WORDS.items() if word.treatment is Treatment.HARMLESS)
    lines += ["", f"Words that do not matter: {', '.join(f'`{name}`' for name in harmless)}."]
    lines += [
        "",
        f"Options that are not about placement: {', '.join(f'`{one}`' for one in sorted(NOT_ABOUT_PLACEMENT))}.",
    ]
    return "\n".join(lines)


def _told(treatment: Treatment) -> str:
    return f"**{treatment}**" if treatment is Treatment.BLOCKS else str(treatment)

"""slurm.conf's settings that bite: each check takes slurmctld's whole configuration, as scontrol prints it."""

import re
from collections.abc import Callable, Iterator, Mapping

from console.health.doctor.findings import Finding, fail, ok, warn

NAME = "slurm.conf"
Words = Mapping[str, str]

LONG_KILL_S = 60
SHORT_AGE_S = 60
TOO_SHORT_AGE_S = 10
FULL = 0.8
SLOW_START = ("defer", "defer_batch", "max_rpc_cnt")


def requeue(words: Words) -> Iterator[Finding]:
    """Jobs that cannot be requeued are never stopped."""
    if words.get("JobRequeue", "1") == "0":
        yield fail(
            NAME,
            "JobRequeue=0: only jobs that were submitted with --requeue can be stopped and put back.",
            "Set JobRequeue=1 in slurm.conf, and run scontrol reconfigure.",
        )
    else:
        yield ok(NAME, "JobRequeue=1: batch jobs can be requeued.")


def native_preemption(words: Words) -> Iterator[Finding]:
    """Two that stop jobs do not know of each other."""
    kind, mode = words.get("PreemptType", "preempt/none"), words.get("PreemptMode", "OFF")
    if kind != "preempt/none" and mode.upper() != "OFF":
        yield fail(
            NAME,
            f"Slurm stops jobs by itself, too (PreemptType={kind}, PreemptMode={mode}): it takes the room that Giveway "
            "makes, and stops whom no plan names.",
            "Set PreemptType=preempt/none, and restart slurmctld; or leave Giveway's partitions in shadow.",
        )
    elif kind != "preempt/none":
        yield warn(
            NAME,
            f"PreemptType={kind} with PreemptMode={mode}: a partition's or a QOS's own mode switches it on.",
            "Set PreemptType=preempt/none, and restart slurmctld.",
        )
    else:
        yield ok(NAME, "PreemptType=preempt/none: only Giveway stops jobs.")


def partitions_preempt(partitions: Mapping[str, Words]) -> Iterator[Finding]:
    """A partition's own mode says what was meant once."""
    own = {
        name: fields["PreemptMode"]
        for name, fields in sorted(partitions.items())
        if fields.get("PreemptMode", "OFF").upper() not in {"OFF", "N/A"}
    }
    if own:
        told = ", ".join(f"{name} ({mode})" for name, mode in own.items())
        yield warn(
            NAME,
            f"Partitions with a PreemptMode of their own: {told}.",
            "Set PreemptMode=OFF for the partitions that Giveway steers.",
        )


def kill_wait(words: Words, start_deadline_s: int) -> Iterator[Finding]:
    """How long a stopped job may keep its room."""
    seconds = _seconds(words.get("KillWait", "30"))
    if seconds >= start_deadline_s:
        yield fail(
            NAME,
            f"KillWait={seconds} s: a job that heeds no SIGTERM keeps its room longer than a plan waits, "
            f"which is {start_deadline_s} s.",
            f"Set KillWait well below {start_deadline_s}, or the partitions' start deadline above it.",
        )
    elif seconds > LONG_KILL_S:
        yield warn(
            NAME,
            f"KillWait={seconds} s: so long a stopped job may keep its room.",
            f"Set KillWait={LONG_KILL_S} or less; for saving their state jobs have Giveway's grace time.",
        )
    else:
        yield ok(NAME, f"KillWait={seconds} s.")


def selection(words: Words) -> Iterator[Finding]:
    """What a freed CPU is good for."""
    kind = words.get("SelectType", "")
    if kind == "select/linear":
        yield warn(
            NAME,
            "SelectType=select/linear: jobs get whole nodes, so whole nodes are cleared for them.",
            "Use select/cons_tres unless that is what you want.",
        )
    elif kind not in {"select/cons_tres", "select/cons_res"}:
        yield warn(NAME, f"SelectType={kind} is not known to Giveway.", "Use select/cons_tres.")
    else:
        yield ok(NAME, f"SelectType={kind}.")


def priorities(words: Words) -> Iterator[Finding]:
    """What becomes of a priority that was raised and given back."""
    kind = words.get("PriorityType", "")
    if kind != "priority/multifactor":
        yield warn(
            NAME,
            f"PriorityType={kind}: a job that was first in line for a plan that was then undone, and a victim that is "
            "released, go to the end of Slurm's line.",
            "Set PriorityType=priority/multifactor, which computes their priority anew; it needs no slurmdbd.",
        )
    else:
        yield ok(NAME, "PriorityType=priority/multifactor.")


def memory_of_jobs(words: Words) -> Iterator[Finding]:
    """A victim that its checkpoint signal ended is put back while slurmctld still knows it."""
    seconds = _seconds(words.get("MinJobAge", "300"))
    cure = "Set MinJobAge=300, its default."
    if 0 < seconds < TOO_SHORT_AGE_S:
        yield fail(
            NAME,
            f"MinJobAge={seconds} s: a job that its checkpoint signal ended is forgotten before it can be put back.",
            cure,
        )
    elif 0 < seconds < SHORT_AGE_S:
        yield warn(
            NAME,
            f"MinJobAge={seconds} s: after a pause of the worker a job that its checkpoint signal ended may be lost.",
            cure,
        )
    else:
        yield ok(NAME, f"MinJobAge={seconds} s.")


def scheduling(words: Words) -> Iterator[Finding]:
    """What puts off the start of a job for which there is room."""
    if words.get("SchedulerType") == "sched/builtin":
        yield warn(
            NAME,
            "SchedulerType=sched/builtin starts jobs strictly in order: one that fits nowhere keeps back all others.",
            "Set SchedulerType=sched/backfill.",
        )
    set_ = dict(_parameters(words.get("SchedulerParameters", "")))
    slow = [name for name in SLOW_START if name in set_ and set_[name] != "0"]
    if slow:
        yield warn(
            NAME,
            f"SchedulerParameters={','.join(slow)}: Slurm puts starting jobs off, and with it every plan's end.",
            "Leave that out if urgent jobs are to start at once.",
        )
    wait = _seconds(words.get("CompleteWait", "0"))
    if wait > 0:
        yield warn(
            NAME,
            f"CompleteWait={wait} s: while a stopped job ends, Slurm starts nobody for up to that long.",
            "Set CompleteWait=0.",
        )
    if not slow and not wait:
        yield ok(NAME, "Nothing puts off the start of a job for which there is room.")


def gpus(words: Words) -> Iterator[Finding]:
    """Whether the queue itself tells who holds GPUs."""
    tracked = words.get("AccountingStorageTRES", "").lower().split(",")
    with_database = "slurmdbd" in words.get("AccountingStorageType", "")
    if "gpu" in words.get("GresTypes", "").split(",") and with_database and "gres/gpu" not in tracked:
        yield warn(
            NAME,
            "AccountingStorageTRES has no gres/gpu: which GPUs a job holds is asked job by job, which is slower.",
            "Add gres/gpu to AccountingStorageTRES, and restart slurmctld.",
        )


def room_for_jobs(words: Words, jobs: int) -> Iterator[Finding]:
    """A full slurmctld refuses submissions, and keeps no ended job for `memory_of_jobs`."""
    most = _seconds(words.get("MaxJobCount", "10000"))
    if most and jobs > FULL * most:
        yield warn(
            NAME,
            f"{jobs} jobs are in the queue, and MaxJobCount={most}.",
            "Raise MaxJobCount, and restart slurmctld.",
        )


def submit_plugin(words: Words, rules_file: str) -> Iterator[Finding]:
    """The plugin and the file that it reads belong together."""
    installed = "lua" in words.get("JobSubmitPlugins", "").split(",")
    if rules_file and not installed:
        yield warn(
            NAME,
            f"GIVEWAY_SUBMIT_RULES is {rules_file}, but slurmctld has no job_submit plugin that reads it.",
            "Install job_submit.lua beside slurm.conf, and set JobSubmitPlugins=lua.",
        )
    elif rules_file:
        yield ok(NAME, f"JobSubmitPlugins=lua; its rules are written to {rules_file}.")
    else:
        yield ok(NAME, "The job_submit plugin is not in use.")


PLAIN: tuple[Callable[[Words], Iterator[Finding]], ...] = (
    requeue,
    native_preemption,
    selection,
    priorities,
    memory_of_jobs,
    scheduling,
    gpus,
)
"""The checks that need nothing but slurm.conf."""


def _seconds(word: str) -> int:
    """The number in `30 sec`; 0 for what is none."""
    match = re.match(r"\d+", word)
    return int(match[0]) if match else 0


def _parameters(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        yield name.lower(), value

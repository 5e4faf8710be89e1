"""slurm.conf's settings that bite: each check takes slurmctld's whole configuration, as scontrol prints it."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from django.conf import settings

from console.health.doctor.findings import Finding, fail, ok, warn
from scheduler.model.sentence import Listed

NAME = "slurm.conf"
Words = Mapping[str, str]

LONG_KILL_S = 60
SHORT_AGE_S = 60
TOO_SHORT_AGE_S = 10
FULL = 0.8
RULES_MARK = b"giveway-submit-rules"
"""Only Giveway's own script reads a file that begins with it."""
SLOW_START = ("defer", "defer_batch", "max_rpc_cnt")


def requeue(words: Words) -> Iterator[Finding]:
    """Jobs that cannot be requeued are never stopped."""
    if words.get("JobRequeue", "1") == "0":
        yield fail(NAME, "doctor.conf.no_requeue")
    else:
        yield ok(NAME, "doctor.conf.requeue")


def native_preemption(words: Words) -> Iterator[Finding]:
    """Two that stop jobs do not know of each other."""
    kind, mode = words.get("PreemptType", "preempt/none"), words.get("PreemptMode", "OFF")
    if kind != "preempt/none" and mode.upper() != "OFF":
        yield fail(NAME, "doctor.conf.preempts", kind=kind, mode=mode)
    elif kind != "preempt/none":
        yield warn(NAME, "doctor.conf.may_preempt", kind=kind, mode=mode)
    else:
        yield ok(NAME, "doctor.conf.only_giveway")


def partitions_preempt(partitions: Mapping[str, Words]) -> Iterator[Finding]:
    """A partition's own mode says what was meant once."""
    own = {
        name: fields["PreemptMode"]
        for name, fields in sorted(partitions.items())
        if fields.get("PreemptMode", "OFF").upper() not in {"OFF", "N/A"}
    }
    if own:
        told = Listed(f"{name} ({mode})" for name, mode in own.items())
        yield warn(NAME, "doctor.conf.partitions_preempt", names=told)


def kill_wait(words: Words, start_deadline_s: int) -> Iterator[Finding]:
    """How long a stopped job may keep its room."""
    seconds = _seconds(words.get("KillWait", "30"))
    if seconds >= start_deadline_s:
        yield fail(NAME, "doctor.conf.kill_too_slow", n=seconds, m=start_deadline_s)
    elif seconds > LONG_KILL_S:
        yield warn(NAME, "doctor.conf.kill_slow", n=seconds, most=LONG_KILL_S)
    else:
        yield ok(NAME, "doctor.conf.kill", n=seconds)


def selection(words: Words) -> Iterator[Finding]:
    """What a freed CPU is good for."""
    kind = words.get("SelectType", "")
    if kind == "select/linear":
        yield warn(NAME, "doctor.conf.linear")
    elif kind not in {"select/cons_tres", "select/cons_res"}:
        yield warn(NAME, "doctor.conf.select_unknown", kind=kind)
    else:
        yield ok(NAME, "doctor.conf.select", kind=kind)


def priorities(words: Words) -> Iterator[Finding]:
    """What becomes of a priority that was raised and given back."""
    kind = words.get("PriorityType", "")
    if kind != "priority/multifactor":
        yield warn(NAME, "doctor.conf.priority", kind=kind)
    else:
        yield ok(NAME, "doctor.conf.multifactor")


def memory_of_jobs(words: Words) -> Iterator[Finding]:
    """A victim that its checkpoint signal ended is put back while slurmctld still knows it."""
    seconds = _seconds(words.get("MinJobAge", "300"))
    if 0 < seconds < TOO_SHORT_AGE_S:
        yield fail(NAME, "doctor.conf.forgets", n=seconds)
    elif 0 < seconds < SHORT_AGE_S:
        yield warn(NAME, "doctor.conf.may_forget", n=seconds)
    else:
        yield ok(NAME, "doctor.conf.job_age", n=seconds)


def scheduling(words: Words) -> Iterator[Finding]:
    """What puts off the start of a job for which there is room."""
    if words.get("SchedulerType") == "sched/builtin":
        yield warn(NAME, "doctor.conf.builtin")
    set_ = dict(_parameters(words.get("SchedulerParameters", "")))
    slow = [name for name in SLOW_START if name in set_ and set_[name] != "0"]
    if slow:
        yield warn(NAME, "doctor.conf.deferred", names=",".join(slow))
    wait = _seconds(words.get("CompleteWait", "0"))
    if wait > 0:
        yield warn(NAME, "doctor.conf.complete_wait", n=wait)
    if not slow and not wait:
        yield ok(NAME, "doctor.conf.at_once")


def gpus(words: Words) -> Iterator[Finding]:
    """Whether the queue itself tells who holds GPUs."""
    tracked = words.get("AccountingStorageTRES", "").lower().split(",")
    with_database = "slurmdbd" in words.get("AccountingStorageType", "")
    if "gpu" in words.get("GresTypes", "").split(",") and with_database and "gres/gpu" not in tracked:
        yield warn(NAME, "doctor.conf.gpus_untold")


def room_for_jobs(words: Words, jobs: int) -> Iterator[Finding]:
    """A full slurmctld refuses submissions, and keeps no ended job for `memory_of_jobs`."""
    most = _seconds(words.get("MaxJobCount", "10000"))
    if most and jobs > FULL * most:
        yield warn(NAME, "doctor.conf.full", n=jobs, most=most)


def submit_plugin(words: Words, rules_file: str) -> Iterator[Finding]:
    """The plugin and the file that it reads belong together."""
    installed = "lua" in words.get("JobSubmitPlugins", "").split(",")
    if rules_file and not installed:
        yield warn(NAME, "doctor.conf.no_plugin", path=rules_file)
    elif rules_file and (old := _another_script(words)):
        yield warn(NAME, "doctor.conf.plugin_old", path=old)
    elif rules_file:
        yield ok(NAME, "doctor.conf.plugin", path=rules_file)
    else:
        yield ok(NAME, "doctor.conf.plugin_off")


def _another_script(words: Words) -> str:
    """Giveway's script beside slurm.conf, where it can be read from here and is not this release's; else empty."""
    ours, conf = settings.PROJECT_DIR / "deploy" / "slurm" / "job_submit.lua", words.get("SLURM_CONF", "")
    for name in ("job_submit.lua", "giveway_submit.lua"):
        try:
            shipped, found = ours.read_bytes(), Path(conf).with_name(name).read_bytes()
        except (OSError, ValueError):  # slurmctld is on another machine, or there is no such file
            continue
        if RULES_MARK in found and found != shipped:
            return str(Path(conf).with_name(name))
    return ""


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

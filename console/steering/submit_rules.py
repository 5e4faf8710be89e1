"""The small file by which slurmctld's job_submit plugin knows the rules (docs/job-submit.md): GIVEWAY_SUBMIT_RULES.

One line each, words parted by a blank, hostile characters as %XX. The last line counts the ones before it, so that a
file that was cut short is recognised. It is replaced as a whole, when something in it changes and once a minute: one
that is old tells the plugin that nobody is watching any more.
"""

import os
import pwd
import re
import stat
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import structlog
from django.conf import settings

from console.cluster.models import Cluster
from console.core import clock
from console.power.selectors import MEASURE
from console.steering.deciding import Verdicts
from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.policy import Enforcement, LevelRule, NotRequeueable, PartitionPolicy
from scheduler.priority.task_patterns import specific_first

HEADER = "giveway-submit-rules 1"
VALID_S = 600
"""The plugin lets everything through when the file is older than this."""
REWRITE_S = 60
PLACED_AFTER_S = 20
"""So much later a job begins that is to be placed: Giveway lets it begin sooner, or later still."""
UNTRIED = "-"
NOBODY = ":"
"""Fits no user: the file of accounts has a colon between its columns."""
MODE = 0o644
"""slurmctld may run as another user."""

log = structlog.get_logger(__name__)
_told: dict[Path, str] = {}
"""The fault that was logged last, by file."""


def write_submit_rules(cluster: Cluster, verdicts: Sequence[Verdicts]) -> None:
    """Bring the file up to date, if there is to be one. A failure is logged once and stops nothing."""
    path = rules_path()
    if path is None:
        return
    fault = ""
    now = int(clock.now().timestamp())
    try:
        body = [f"cluster {_word(cluster.name)}", *measures_line(cluster)]
        for verdict in verdicts:
            body.extend(type_lines(cluster, verdict.facts.policy))
            body.extend(place_lines(cluster, verdict))
        for verdict in verdicts:
            body.extend(partition_lines(verdict.facts.policy.at(verdict.snapshot.now), verdict.jobs.values()))
        _bring_up_to_date(path, body, now)
    except (OSError, ValueError) as error:
        # Not the whole error: it names the temporary file, another one each time.
        fault = getattr(error, "strerror", None) or str(error)
        if fault != _told.get(path):
            log.warning("submit rules cannot be written", cluster=cluster.name, path=str(path), fault=fault)
    _told[path] = fault


def rules_path() -> Path | None:
    """Where the file is to be; None when there is to be none."""
    name: str = settings.GIVEWAY_SUBMIT_RULES
    return Path(name) if name else None


def bell_path() -> Path | None:
    """The file that slurmctld's job_submit script touches when something happens, made where it is missing.

    Whoever may reach it may ring: nobody reads it, and a ring costs a glance. None where there is no such script.
    """
    rules = rules_path()
    if rules is None:
        return None
    bell = rules.with_name(f"{rules.name}.bell")
    try:
        if not bell.exists():
            bell.touch()
            bell.chmod(0o666)
    except OSError:
        return None  # `fault_of_rules` says what is wrong with the folder
    return bell


def fault_of_rules(now: int) -> str:
    """Why the plugin would let everything through, in words; empty when the file is as it should be, or off."""
    path = rules_path()
    if path is None:
        return ""
    try:
        text = path.read_text(encoding="ascii")
        readable = bool(stat.S_IMODE(path.stat().st_mode) & stat.S_IROTH)
    except (OSError, ValueError) as error:
        return f"{path} cannot be read: {error}"
    written = _written(text)
    if written is None:
        return f"{path} is not whole"
    if not readable:
        return f"{path} cannot be read by every account; slurmctld may run under another one"
    if now - written > 2 * REWRITE_S:
        return f"{path} was written {now - written} s ago; no cycle has brought it up to date since"
    return ""


def rules_text(body: Sequence[str], written: int) -> str:
    """The whole file."""
    lines = [HEADER, f"written {written}", f"valid {VALID_S}", *body]
    return "\n".join([*lines, f"end {len(lines)}", ""])


def _bring_up_to_date(path: Path, body: Sequence[str], now: int) -> None:
    """Replace the file unless it says the same and was written a moment ago."""
    try:
        before = path.read_text(encoding="ascii")
    except (OSError, ValueError):
        before = ""
    written = _written(before)
    if written is not None and 0 <= now - written < REWRITE_S and before == rules_text(body, written):
        return
    _replace(path, rules_text(body, now))


def _written(text: str) -> int | None:
    """When a file was written; None for one that is not whole."""
    lines = text.split("\n")
    if len(lines) < 4 or lines[0] != HEADER or lines[-2:] != [f"end {len(lines) - 2}", ""]:
        return None
    key, _, when = lines[1].partition(" ")
    return int(when) if key == "written" and when.isdecimal() else None


def _replace(path: Path, text: str) -> None:
    """Whoever reads sees the old file or the new one, after a power cut too."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            os.fchmod(file.fileno(), MODE)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def partition_lines(policy: PartitionPolicy, jobs: Iterable[SnapshotJob]) -> Iterator[str]:
    """What the plugin is told of one partition."""
    yield " ".join(("partition", _word(policy.name), policy.enforcement.value, *_requeueable(policy)))
    yield from _rules(policy)
    yield from _running(policy, jobs)


def type_lines(cluster: Cluster, policy: PartitionPolicy) -> Iterator[str]:
    """The library of task types, behind the cluster's name: there older scripts take no notice of it.

    CPUs, GPUs, memory in MB and the limit in minutes, 0 for what is not filled in; and how Slurm calls GPUs.
    """
    if policy.enforcement is Enforcement.SHADOW:
        return
    gpus = gpu_word(cluster.software)
    for row in policy.task_types:
        minutes = -(-(row.time_s or 0) // 60)
        needs = (row.cpus or 0, row.gpus or 0, row.memory_mb or 0, minutes, gpus)
        if row.fills:
            words = ("cluster", _word(cluster.name), "type", _word(policy.name), _word(row.pattern))
            yield " ".join([*words, *map(str, needs)])


def measures_line(cluster: Cluster) -> Iterator[str]:
    """By which name and account Giveway's measurements are known, which no rule is for; where it measures at all.

    They are submitted by the account that writes this.
    """
    if not settings.GIVEWAY_NODES_URL:
        return
    try:
        account = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        log.debug("an account without a name submits nothing that a rule could know")
        return
    yield " ".join(("cluster", _word(cluster.name), "measures", MEASURE, _word(account)))


def place_lines(cluster: Cluster, verdict: Verdicts) -> Iterator[str]:
    """That jobs of a partition begin later so that they can be placed; behind the cluster's name like task types.

    Not where nobody would place them (`placing.choosing.may_place`), or nothing is measured.
    """
    policy, balance = verdict.facts.policy, verdict.facts.policy.balance
    if balance is None or policy.enforcement is not Enforcement.ENFORCE or verdict.facts.paused:
        return
    if any(balance.resource in node.power for node in verdict.snapshot.nodes):
        asking = [_word(row.pattern) for row in policy.task_types if row.balanced]
        words = ("cluster", _word(cluster.name), "place", _word(policy.name), balance.applies_to.value)
        yield " ".join([*words, str(PLACED_AFTER_S), *asking])


def gpu_word(software: str) -> str:
    """How GPUs are written into a request by a release of Slurm (`slurm 24.11.5`); a dash where that was not tried.

    A request that is written otherwise is refused, so nothing is filled in there.
    """
    release = re.search(r"(\d+)\.(\d+)", software)
    if release is None:
        return UNTRIED
    version = int(release[1]), int(release[2])
    return "gres:gpu" if version == (22, 5) else "gres/gpu" if version >= (24, 11) else UNTRIED


def _requeueable(policy: PartitionPolicy) -> Iterator[str]:
    """That jobs have to be requeueable, and who is exempt; on the partition's line, where older scripts skip it."""
    if policy.not_requeueable is not NotRequeueable.CANCEL:
        yield "requeueable"
        yield from map(_word, policy.no_requeue_users)


def _rules(policy: PartitionPolicy) -> Iterator[str]:
    """What decides a job's task level without its project: overrides, then keywords; the first that fits counts."""
    ranks = {rule.name: rank for rank, rule in enumerate(policy.levels)}
    for rank, rule in enumerate(policy.levels):
        yield f"level {rank} {_word(rule.name)}"
    worded = [(rank, rule, rule.keyword) for rank, rule in enumerate(policy.levels) if rule.keyword]
    for rank, rule, keyword in sorted(worded, key=lambda entry: -len(entry[2])):
        yield " ".join(("keyword", _word(keyword), str(rank), *map(_word, _users(rule))))
    yield f"denied {policy.keyword_denied.value}"
    for pattern in specific_first(policy.task_overrides):
        yield f"override {_word(pattern)} {ranks[policy.task_overrides[pattern]]}"
    yield f"over_quota {policy.over_quota.value}"
    for name, most in policy.quotas.items():
        yield f"quota {ranks[name]} {most}"


def _users(rule: LevelRule) -> Iterable[str]:
    """Who may use a level's keyword, as the plugin reads it: no pattern at all stands for everybody."""
    return () if rule.keyword_users is None else rule.keyword_users or (NOBODY,)


def _running(policy: PartitionPolicy, jobs: Iterable[SnapshotJob]) -> Iterator[str]:
    """How many jobs each user has running at each level that has a quota."""
    counts: Counter[tuple[str, int]] = Counter()
    for job in jobs:
        level = job.task_level
        if job.state is JobState.RUNNING and job.user and level is not None:
            counts[job.user, level] += policy.level_name(level) in policy.quotas
    for (user, level), count in sorted(counts.items()):
        if count:
            yield f"running {_word(user)} {level} {count}"


def _word(text: str) -> str:
    return quote(text, safe="*?[]!@+:,=")

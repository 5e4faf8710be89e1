"""All checks, in the order in which one would look. What a dead database or cluster leaves out is said."""

from collections.abc import Callable, Iterator

from django.conf import settings
from django.db import DatabaseError, connection

from console.cluster.connect import check_up
from console.cluster.models import Job, JobPhase
from console.health.doctor import (
    database,
    directory,
    files,
    forecasting,
    immune,
    installation,
    job_requests,
    power,
    slurm,
    slurm_settings,
    work,
)
from console.health.doctor.findings import Finding, Level, fail, ok, warn
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.steering.models import KeptPlace
from scheduler.model.policy import Enforcement, PartitionPolicy

NEED_DATABASE: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
    ("worker", work.check_worker),
    ("worker", work.check_cadence),
    (forecasting.NAME, forecasting.check_forecasts),
    (power.NAME, power.check_power),
    ("incidents", work.check_incidents),
    ("audit", work.check_audit),
    ("audit", work.check_chain),
    ("accounts", installation.check_accounts),
    ("partitions", installation.check_partitions),
    (immune.NAME, immune.check_immune),
    (job_requests.NAME, job_requests.check_requests),
)
NEED_NOTHING = (
    files.check_files,
    files.check_disk,
    work.check_broker,
    work.check_messages,
    work.check_submit_rules,
    installation.check_settings,
    directory.check_directory,
)


def examine() -> Iterator[Finding]:
    """Everything there is to say; never raises for what is wrong outside this process."""
    alive = True
    try:
        yield from database.check_database()
    except DatabaseError as error:
        alive = False
        yield fail(database.NAME, "doctor.database.away", said=_first_line(error))
    for name, check in NEED_DATABASE:
        yield from _with_database(name, check) if alive else _left_out(name)
    for check in NEED_NOTHING:
        yield from check()
    yield from _slurm(alive)


def worst(findings: list[Finding]) -> Level:
    """The worst level among them."""
    levels = {finding.level for finding in findings}
    return Level.FAIL if Level.FAIL in levels else Level.WARN if Level.WARN in levels else Level.OK


def _with_database(name: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except DatabaseError as error:
        yield warn(name, "doctor.database.refused", said=_first_line(error))


def _left_out(name: str) -> Iterator[Finding]:
    yield warn(name, "doctor.database.left_out")


def _slurm(database_alive: bool) -> Iterator[Finding]:
    found = check_up()
    if found is None:
        yield ok("slurmctld", "doctor.slurm.simulated", name=settings.GIVEWAY_CLUSTER_NAME)
        return
    for check in (
        slurm.check_commands,
        slurm.check_answers,
        slurm.check_tried,
        slurm.check_rights,
        slurm.check_rate_limit,
        slurm.check_clock,
        slurm.check_resizing,
    ):
        yield from check(found)
    if not found.words:
        return
    for plain in slurm_settings.PLAIN:
        yield from plain(found.words)
    yield from slurm_settings.submit_plugin(found.words, settings.GIVEWAY_SUBMIT_RULES)
    if database_alive:
        yield from _with_database("kept nodes", lambda: slurm.check_kept(found, _kept_for()))
    policies, jobs, nobodys = _policies_and_jobs() if database_alive else ([], 0, 0)
    deadlines = [policy.start_deadline_s for policy in policies]
    yield from slurm_settings.kill_wait(
        found.words, min(deadlines, default=PartitionPolicy("").start_deadline_s)
    )
    yield from slurm_settings.room_for_jobs(found.words, jobs)
    yield from slurm.users_by_name(nobodys)
    steered = {policy.name for policy in policies if policy.enforcement != Enforcement.SHADOW}
    yield from slurm_settings.partitions_preempt(
        {name: fields for name, fields in found.partitions.items() if name in steered}
    )


def _policies_and_jobs() -> tuple[list[PartitionPolicy], int, int]:
    """What the settings of slurm.conf are compared with, and how many jobs are nobody's; nothing where the tables are
    not as they should be."""
    rows = Partition.objects.filter(
        cluster__name=settings.GIVEWAY_CLUSTER_NAME, revision__isnull=False
    ).select_related("revision")
    jobs = Job.objects.filter(cluster__name=settings.GIVEWAY_CLUSTER_NAME).exclude(phase=JobPhase.ENDED)
    try:
        nobodys = jobs.filter(user=slurm.NOBODY).values("job_id").distinct().count()
        return [policy_of(row) for row in rows], jobs.values("job_id").distinct().count(), nobodys
    except DatabaseError:
        connection.close()
        return [], 0, 0


def _kept_for() -> set[str]:
    """The jobs that Giveway has nodes kept for."""
    name = settings.GIVEWAY_CLUSTER_NAME
    return set(KeptPlace.objects.filter(cluster__name=name, until__gt=0).values_list("job_id", flat=True))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]

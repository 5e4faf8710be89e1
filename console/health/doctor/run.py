"""All checks, in the order in which one would look. What a dead database or cluster leaves out is said."""

import os
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection

from console.cluster.connect import check_up, measures
from console.cluster.models import Cluster, Job, JobPhase
from console.core import clock
from console.core.files import free_bytes, is_open, own_folders, private_files
from console.core.installation import is_production, is_simulated
from console.forecasts.models import AccountingRead
from console.health import selectors
from console.health.doctor import directory, installation, slurm, slurm_settings, work
from console.health.doctor.findings import Finding, Level, counted, fail, ok, warn
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.power.models import (
    DrainState,
    Measurement,
    MeasurementState,
    NodeDrain,
    PowerIncident,
    Processor,
    StandoutKind,
    StandoutState,
)
from console.power.selectors import Figured, kinds_of, outliers, rules_in_force
from console.reports.immune import immune_parts
from console.starts.selectors import jobs_in_line, last_said
from console.steering.models import KeptPlace
from scheduler.model.policy import Enforcement, PartitionPolicy
from scheduler.model.sentence import told

# --- The files of the installation: nobody else on this machine reads or writes them, and there is room for them.


NAME = "files"
DISK = "disk"
MB = 1 << 20
LITTLE, NOTHING = 1024 * MB, 32 * MB
"""Bytes that are left: few enough to be told of, and too few for the next hour."""


def check_files() -> Iterator[Finding]:
    """The home folder, the database where it is a file, the anchors of the audit log, the secret key."""
    opened = [path for path in private_files(settings.HOME, settings.DATABASES["default"]) if is_open(path)]
    if is_open(settings.HOME):
        yield fail(NAME, "doctor.files.home", path=str(settings.HOME))
    if opened:
        yield fail(NAME, counted("doctor.files.open", len(opened)), n=len(opened), path=str(opened[0]))
    if not opened and not is_open(settings.HOME):
        yield ok(NAME, "doctor.files.private", path=str(settings.HOME))


def check_disk() -> Iterator[Finding]:
    """Whether this account can write where the home folder is, and the database where it is a file."""
    for folder in own_folders(settings.HOME, settings.DATABASES["default"]):
        yield _room_in(folder)


def _room_in(folder: Path) -> Finding:
    path = str(folder)
    if not os.access(folder, os.W_OK):
        return fail(DISK, "doctor.disk.closed", path=path)
    left = free_bytes(folder)
    if left < NOTHING:
        return fail(DISK, "doctor.disk.full", path=path, n=left // MB)
    if left < LITTLE:
        return warn(DISK, "doctor.disk.low", path=path, n=left // MB)
    return ok(DISK, "doctor.disk.room", path=path, n=left // LITTLE)


# --- The forecasts: whether starts of waiting jobs are said, and whether the accounting that they learn from is read.


NAME_FORECASTING = "forecasts"
LATE = timedelta(minutes=10)
"""Expected starts are said anew within five minutes, as long as anybody waits."""


def check_forecasts() -> Iterator[Finding]:
    """Of jobs that wait: when it was last said when they start. Of accounting: why it could not be read."""
    cluster = Cluster.objects.filter(name=settings.GIVEWAY_CLUSTER_NAME).first()
    if cluster is None:
        return
    waits = jobs_in_line(cluster).order_by("waits_since").first()
    now, said = int(clock.now().timestamp()), last_said(cluster)
    late = LATE.total_seconds()
    if waits is None or now - waits.waits_since < late:
        yield ok(NAME_FORECASTING, "doctor.forecasts.nobody")
    elif said is None:
        yield warn(NAME_FORECASTING, "doctor.forecasts.never")
    elif now - said > late:
        yield warn(NAME_FORECASTING, "doctor.forecasts.late", n=(now - said) // 60)
    else:
        yield ok(NAME_FORECASTING, "doctor.forecasts.said", n=now - said)
    fault = AccountingRead.objects.filter(cluster=cluster).values_list("fault", flat=True).first()
    if fault:
        yield warn(NAME_FORECASTING, "doctor.forecasts.accounting", why=told(fault))


# --- How much of what is enforced is out of reach ---


NAME_IMMUNE = "immune jobs"
MUCH = 0.25
"""More of a partition than this is worth a word."""


def check_immune() -> Iterator[Finding]:
    """Whether running jobs that Slurm does not requeue hold much of a partition that enforces its plans."""
    rows = Partition.objects.filter(
        cluster__name=settings.GIVEWAY_CLUSTER_NAME, revision__enforcement=Enforcement.ENFORCE.value
    ).select_related("cluster")
    partitions = {row.name: row.cluster for row in rows}
    if not partitions:
        return
    parts = immune_parts(next(iter(partitions.values())), list(partitions))
    much = {name: part for name, part in sorted(parts.items()) if part.share > MUCH}
    for name, part in much.items():
        code = counted("doctor.immune.much", part.count)
        yield warn(NAME_IMMUNE, code, n=part.percent, partition=name, m=part.count, user=part.users[0].user)
    if not much:
        yield ok(NAME_IMMUNE, "doctor.immune.little")


# --- Compute power: whether what is to be measured can be, and which processors are far from their kind ---


NAME_POWER = "power"
LATELY = timedelta(days=1)
MOST = 5
"""So many processors are named one by one; a cluster with more has another kind of trouble."""


def check_power() -> Iterator[Finding]:
    """Nothing where nothing is measured or known."""
    cluster = Cluster.objects.filter(name=settings.GIVEWAY_CLUSTER_NAME).first()
    if cluster is None:
        return
    rules = rules_in_force(cluster)
    if rules and measures(cluster) and not settings.GIVEWAY_NODES_URL:
        yield warn(NAME_POWER, "doctor.power.address", partition=rules[0].partition.name)
    since = clock.now() - LATELY
    failed = Measurement.objects.filter(
        cluster=cluster, state=MeasurementState.FAILED, ended_at__gte=since
    ).first()
    if failed is not None:
        yield warn(NAME_POWER, "doctor.power.failed", node=failed.node, why=failed.outcome)
    drain = NodeDrain.objects.filter(cluster=cluster, state=DrainState.FAILED, changed_at__gte=since).first()
    if drain is not None:
        yield warn(NAME_POWER, "doctor.power.drain", node=drain.node, why=drain.detail)
    yield from _stand_out(cluster)


def _stand_out(cluster: Cluster) -> Iterator[Finding]:
    """But for those that somebody has left as they are."""
    standing = PowerIncident.objects.filter(cluster=cluster).exclude(state=StandoutState.CLOSED)
    known = {(row.node, row.resource, row.device): row for row in standing}
    for row in known.values():
        if (row.kind, row.state) == (StandoutKind.JUMPED, StandoutState.OPEN):
            yield warn(NAME_POWER, "doctor.power.jumped", what=row.words)
    left = {key for key, row in known.items() if row.state == StandoutState.LEFT}
    processors = list(Processor.objects.filter(cluster=cluster))
    far = [each for each in outliers(processors, kinds_of(cluster)) if each.share > 0]
    far = [each for each in far if _key(each.processor) not in left]
    for each in far[:MOST]:
        node, resource, device = _key(each.processor)
        yield warn(
            NAME_POWER, "doctor.power.far",
            node=node, resource=resource, device=device, n=each.percent, others=each.siblings,
        )  # fmt: skip
    if processors and not far and not known:
        yield ok(NAME_POWER, "doctor.power.even", n=len(processors))


def _key(row: Figured) -> tuple[str, str, int]:
    return row.node, row.resource, row.device


# --- The database: does it answer, is it as the code wants it, is it fit for what it is to carry, is its clock ours.


NAME_DATABASE = "database"
CLOCK_S = 2.0
SLOW_S = 0.5


def check_database() -> Iterator[Finding]:
    """Raises Django's `DatabaseError` when it does not answer: the caller says so, and leaves out what needs it."""
    before = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    took = time.perf_counter() - before
    kind = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}.get(connection.vendor, connection.vendor)
    if took > SLOW_S:
        yield warn(NAME_DATABASE, "doctor.database.slow", name=kind, n=f"{took:.1f}")
    else:
        yield ok(NAME_DATABASE, "doctor.database.answers", name=kind)
    yield _migrations()
    if connection.vendor == "sqlite":
        yield from _sqlite()
    else:
        yield _clock()


def _migrations() -> Finding:
    selectors.forget_migrations()
    missing = selectors.missing_migrations()
    if missing:
        code = counted("doctor.database.migrations", len(missing))
        return fail(NAME_DATABASE, code, n=len(missing), name=missing[0])
    return ok(NAME_DATABASE, "doctor.database.migrated")


def _sqlite() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        mode = cursor.fetchone()[0]
    if mode not in {"wal", "memory"}:
        yield warn(NAME_DATABASE, "doctor.database.journal", mode=mode)
    if not is_simulated() or is_production():
        yield warn(NAME_DATABASE, "doctor.database.sqlite")


def _clock() -> Finding:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        theirs = cursor.fetchone()[0]
    apart = abs((theirs - clock.now()).total_seconds())
    if apart > CLOCK_S:
        return warn("clocks", "doctor.clocks.database_apart", n=round(apart))
    return ok("clocks", "doctor.clocks.database")


NEED_DATABASE: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
    ("worker", work.check_worker),
    ("worker", work.check_cadence),
    (NAME_FORECASTING, check_forecasts),
    (NAME_POWER, check_power),
    ("incidents", work.check_incidents),
    ("audit", work.check_audit),
    ("audit", work.check_chain),
    ("accounts", installation.check_accounts),
    ("partitions", installation.check_partitions),
    (NAME_IMMUNE, check_immune),
)
NEED_NOTHING = (
    check_files,
    check_disk,
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
        yield from check_database()
    except DatabaseError as error:
        alive = False
        yield fail(NAME_DATABASE, "doctor.database.away", said=_first_line(error))
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

"""Measuring through Slurm: on idle nodes for which nobody waits, one processor at a time, as many as the rule says.

A measurement is written down before it is submitted, and holds no node for which a job waits: the cycle withdraws it.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Max, Q

from console.cluster.models import Cluster, Job, JobPhase, Node
from console.core import clock
from console.power.models import (
    OPEN_STATES,
    Cause,
    DownNode,
    Measurement,
    MeasurementState,
    MeasuringRule,
    PowerReading,
)
from console.power.selectors import BY_NODE, MEASURE, open_measurements, rules_in_force, running_measurements
from console.power.tokens import make_token
from scheduler.model.benchmarks import Benchmark
from scheduler.model.jobs import JobState
from scheduler.model.observation import Observation
from scheduler.model.reasons import Reason
from scheduler.ports import BenchmarkPort, BenchmarkRefusedError, ClusterUnavailableError
from scheduler.reconcile.blocking import why_blocked

# --- The batch script of a measurement: the site's benchmark, and what tells its result ---


ASKS_EVERY_S = 20
"""So often a measurement asks whether it is to go on; after three times without an answer it ends."""
SHIPPED = Path(__file__).parent / "benchmarks"


class NoBenchmarkError(Exception):
    """The benchmark that the settings name cannot be read; the message says which."""


def script_of(measurement: Measurement) -> str:
    """What the job of a measurement runs. Raises `NoBenchmarkError`."""
    wrapper = (SHIPPED / "measure.sh").read_text(encoding="utf-8")
    said = {
        "URL": settings.GIVEWAY_NODES_URL,
        "TOKEN": make_token(measurement.pk),
        "DEVICES": str(measurement.devices),
        "EVERY": str(ASKS_EVERY_S),
        "BENCHMARK": b64encode(_benchmark(measurement.resource)).decode(),
    }
    for key, value in said.items():
        wrapper = wrapper.replace(f"@{key}@", value)
    return wrapper


def _benchmark(resource: str) -> bytes:
    name = "cpu" if resource in BY_NODE else "gpu"
    path = getattr(settings, f"GIVEWAY_BENCHMARK_{name.upper()}") or SHIPPED / f"{name}.sh"
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise NoBenchmarkError(f"{path}: {error.strerror}") from error


log = structlog.get_logger(__name__)

_HOLDING = frozenset({JobState.PENDING, JobState.RUNNING})
PUT_OFF = "BeginTime"
"""What Slurm says of a job whose begin time has not come."""
MARGIN = timedelta(minutes=2)
"""So long after its limit nothing more is expected of a measurement."""


def measure(cluster: Cluster, port: BenchmarkPort) -> list[Measurement]:
    """One round: give up what is late, ask for what is due, submit what may be. What was submitted."""
    rules = rules_in_force(cluster)
    give_up_late(cluster)
    if not rules:
        withdraw(cluster, port, open_measurements(cluster), again=False)
        return []
    nodes = {node.name: node for node in Node.objects.filter(cluster=cluster)}
    note_repairs(cluster, nodes.values(), rules)
    submitted = []
    for rule in rules:
        mine = [node for node in nodes.values() if rule.partition.name in node.partitions]
        ask_for_due(cluster, rule, mine)
        submitted += _submit_some(cluster, port, rule, mine)
    return submitted


def ask(
    cluster: Cluster,
    rule: MeasuringRule,
    nodes: Iterable[Node],
    cause: Cause,
    *,
    by: str = "",
    not_before: datetime | None = None,
) -> list[Measurement]:
    """Write down that nodes are to be measured, but for those that are already, or have no such processor."""
    asked = []
    for node in nodes:
        devices = devices_of(node, rule.resource)
        if not devices:
            continue
        row = Measurement(
            cluster=cluster, partition=rule.partition.name, node=node.name, resource=rule.resource, devices=devices,
            cause=cause, asked_by=by, not_before=not_before,
        )  # fmt: skip
        asked += _wished(row)
    return asked


def devices_of(node: Node, resource: str) -> int:
    """How many of a node's processors are measured one by one."""
    total = int(node.total.get(resource, 0))
    return min(total, 1) if resource in BY_NODE else total


def ask_for_due(cluster: Cluster, rule: MeasuringRule, nodes: Sequence[Node]) -> list[Measurement]:
    """Nodes that were never measured, or too long ago. One that failed is tried again when its figures would be old."""
    tried = dict(
        Measurement.objects.filter(cluster=cluster, resource=rule.resource)
        .exclude(state=MeasurementState.WITHDRAWN)
        .values_list("node")
        .annotate(Max("asked_at"))
    )
    told = dict(
        PowerReading.objects.filter(cluster=cluster, resource=rule.resource)
        .values_list("node")
        .annotate(Max("taken_at"))
    )
    old = clock.now() - timedelta(days=rule.every_days)
    first = [node for node in nodes if node.name not in tried and node.name not in told]
    due = [
        node
        for node in nodes
        if node not in first and max(filter(None, (tried.get(node.name), told.get(node.name)))) < old
    ]
    return ask(cluster, rule, first, Cause.FIRST) + ask(cluster, rule, due, Cause.DUE)


def note_repairs(cluster: Cluster, nodes: Iterable[Node], rules: Sequence[MeasuringRule]) -> None:
    """Remember who is out of service; whoever is back is measured anew."""
    rows = list(nodes)
    down = set(DownNode.objects.filter(cluster=cluster).values_list("node", flat=True))
    DownNode.objects.bulk_create(
        [DownNode(cluster=cluster, node=node.name) for node in rows if not node.up and node.name not in down],
        ignore_conflicts=True,
    )
    back = [node for node in rows if node.up and node.name in down]
    for rule in rules:
        mine = [node for node in back if rule.partition.name in node.partitions]
        ask(cluster, rule, mine, Cause.REPAIRED)
    DownNode.objects.filter(cluster=cluster, node__in=[node.name for node in back]).delete()


def give_up_late(cluster: Cluster) -> None:
    """What has not told its result long after its limit has failed."""
    rules = {rule.partition.name: rule.limit_s for rule in MeasuringRule.objects.select_related("partition")}
    for row in running_measurements(cluster):
        limit = timedelta(seconds=rules.get(row.partition, 0)) + MARGIN
        if row.submitted_at is not None and clock.now() - row.submitted_at > limit:
            end(row, MeasurementState.FAILED, "It told no result in its time.")


def end(measurement: Measurement, state: MeasurementState, outcome: str = "") -> bool:
    """It is over; False when it was already."""
    rows = Measurement.objects.filter(pk=measurement.pk, state__in=OPEN_STATES)
    return bool(rows.update(state=state, ended_at=clock.now(), outcome=outcome[:300]))


def withdraw(
    cluster: Cluster, port: BenchmarkPort, measurements: Sequence[Measurement], *, again: bool = True
) -> None:
    """End measurements and their jobs. `again`: the nodes are measured when they are idle once more."""
    ended = [row for row in measurements if end(row, MeasurementState.WITHDRAWN)]
    port.end([row.job_id for row in ended if row.job_id])
    for row in ended if again else ():
        _wished(
            Measurement(
                cluster=cluster, partition=row.partition, node=row.node, resource=row.resource, devices=row.devices,
                cause=Cause.REPEATED, asked_by=row.asked_by,
            )
        )  # fmt: skip


def _wished(wish: Measurement) -> list[Measurement]:
    """The measurement as it was written down; none where the node's is open already."""
    row, is_new = Measurement.objects.get_or_create(
        cluster=wish.cluster,
        node=wish.node,
        resource=wish.resource,
        state__in=OPEN_STATES,
        defaults={
            "state": MeasurementState.ASKED,
            "partition": wish.partition,
            "devices": wish.devices,
            "cause": wish.cause,
            "asked_by": wish.asked_by,
            "not_before": wish.not_before,
            "asked_at": clock.now(),
        },
    )
    return [row] if is_new else []


def make_room(
    cluster: Cluster, observation: Observation, port: BenchmarkPort | None, confirm: Callable[[], None]
) -> int:
    """End the measurements on nodes of partitions in which a job waits that could start; how many.

    One that was withdrawn while Slurm did not answer still runs: it is ended again. `confirm`: raises where the caller
    may not go by what he has observed any more.
    """
    named = {job.id for job in observation.jobs if job.name == MEASURE and job.state in _HOLDING}
    if port is None or not named:
        return 0
    running = list(Measurement.objects.filter(cluster=cluster, job_id__in=named).order_by("id"))
    ours = {row.job_id for row in running} | _waiting_for_figures(cluster, observation)
    states = {partition.name: partition.state for partition in observation.partitions}
    wanted = {
        partition
        for job in observation.jobs
        if job.state is JobState.PENDING and job.id not in ours
        for partition in job.partitions
        if not why_blocked(job, states.get(partition, ""), observation.taken_at)
    }
    needed = {node for part in observation.partitions if part.name in wanted for node in part.nodes}
    in_the_way = [row for row in running if row.node in needed]
    if in_the_way:
        confirm()
        withdraw(cluster, port, in_the_way)
        port.end([row.job_id for row in in_the_way if row.state not in OPEN_STATES])
        log.info("measurements make room", nodes=[row.node for row in in_the_way])
    return len(in_the_way)


def _submit_some(
    cluster: Cluster, port: BenchmarkPort, rule: MeasuringRule, nodes: Sequence[Node]
) -> list[Measurement]:
    """Submit as many of those that are asked for as the rule allows."""
    name = rule.partition.name
    rows = [row for row in open_measurements(cluster) if row.partition == name]
    free = rule.at_most - sum(row.state == MeasurementState.SUBMITTED for row in rows)
    now = clock.now()
    waiting = (row for row in rows if row.state == MeasurementState.ASKED)
    asked = [row for row in waiting if row.not_before is None or row.not_before <= now]
    if free <= 0 or not asked:
        return []
    idle = {node.name for node in nodes if _is_idle(node)}
    shared = {part for node in nodes for part in node.partitions}
    if _somebody_waits(cluster, shared):
        return []
    chosen = [row for row in asked if row.node in idle][:free]
    return [row for row in chosen if _submit(port, rule, row)]


def _is_idle(node: Node) -> bool:
    """Idle and awake: nobody's node is powered up to be measured."""
    state = node.state.lower()
    awake = "power" not in state
    return node.up and state.startswith("idle") and awake and not any(node.used.values())


def _somebody_waits(cluster: Cluster, partitions: Iterable[str]) -> bool:
    """Whether a job waits that nothing but room keeps from starting."""
    waiting = Job.objects.filter(
        cluster=cluster, phase=JobPhase.PENDING, partition__in=partitions, held=False
    )
    # Put off by Giveway until there are figures: whom measuring would not wait for, it would keep waiting for ever.
    for_figures = Q(reason=Reason.NOT_MEASURED, slurm_reason__iexact=PUT_OFF)
    return waiting.exclude(Q(reason=Reason.BLOCKED) | Q(name=MEASURE) | for_figures).exists()


def _waiting_for_figures(cluster: Cluster, observation: Observation) -> set[str]:
    """The jobs that wait for measurements, so that none is to be ended for them: put off by Giveway, not by Slurm."""
    put_off = [job.id for job in observation.jobs if job.to_be_placed]
    if not put_off:
        return set()
    rows = Job.objects.filter(cluster=cluster, job_id__in=put_off, reason=Reason.NOT_MEASURED)
    return set(rows.values_list("job_id", flat=True))


def _submit(port: BenchmarkPort, rule: MeasuringRule, row: Measurement) -> bool:
    """Written down first: a job that is submitted is known whatever happens then."""
    taken = Measurement.objects.filter(pk=row.pk, state=MeasurementState.ASKED)
    if not taken.update(state=MeasurementState.SUBMITTED, submitted_at=clock.now()):
        return False
    amount = 0 if rule.resource in BY_NODE else row.devices
    try:
        job_id = port.submit(
            Benchmark(
                MEASURE,
                row.partition,
                row.node,
                script_of(row),
                amount=amount,
                resource=rule.resource,
                limit_s=rule.limit_s,
            )
        )
    except (BenchmarkRefusedError, NoBenchmarkError) as error:
        end(row, MeasurementState.FAILED, str(error))
        log.warning("measurement refused", node=row.node, reason=str(error))
        return False
    except ClusterUnavailableError as error:
        # Nobody knows whether it was taken: one that was tells its result, one that was not is given up when late.
        log.warning("measurement not answered", node=row.node, reason=str(error))
        return False
    with transaction.atomic():
        Measurement.objects.filter(pk=row.pk).update(job_id=job_id)
    return True

"""What people and measurements tell of compute power, with its rows of the audit log."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from console.audit.services import SYSTEM, Context, Subject, record
from console.cluster.models import Cluster, Node
from console.core import clock
from console.partitions.models import Partition
from console.partitions.services import subject_of
from console.power import figures
from console.power.causes import NewDriver, ask_after_change, driver_of, note_drivers
from console.power.figures import NewReading
from console.power.measuring import ask, end
from console.power.models import Cause, Measurement, MeasurementState, MeasuringRule, Processor, Source
from console.power.selectors import nodes_of

LONGEST = 1e9
"""Seconds."""
UNWATCHED = timedelta(minutes=1)
"""So long without a look at the cluster, and nobody would see that a job waits for a measurement's node."""


class AlreadyToldError(Exception):
    """The measurement is over, or has told of this processor before. The message is for people."""


def tell_result(
    measurement: Measurement, device: int, seconds: float, *, driver: str = "", firmware: str = ""
) -> bool:
    """What a measurement found out about one processor; whether it is to go on with the next.

    Raises `AlreadyToldError`. Must run inside a transaction.
    """
    _check_open(measurement, device)
    driver, firmware = driver_of(measurement, driver, firmware)
    told = NewReading(measurement.node, measurement.resource, device, seconds, driver, firmware)
    try:
        with transaction.atomic():
            (processor,) = figures.record(
                measurement.cluster, [told], Source.MEASURED, measurement=measurement
            )
    except IntegrityError as error:
        raise AlreadyToldError(_("This processor has been told of already.")) from error
    record(
        actor=SYSTEM,
        action="power.measured",
        subject=_subject(measurement.cluster, measurement.partition, processor),
        before=None if processor.before is None else {"seconds": processor.before},
        after={"seconds": seconds, "figure": processor.figure, "driver": driver, "firmware": firmware},
    )
    if measurement.readings.count() < measurement.devices:
        return True
    end(measurement, MeasurementState.DONE)
    ask_after_change(measurement)
    return False


def tell_failure(measurement: Measurement, device: int, why: str) -> None:
    """The benchmark failed. Raises `AlreadyToldError`."""
    _check_open(measurement, device)
    end(measurement, MeasurementState.FAILED, why)


def goes_on(measurement: Measurement) -> bool:
    """Whether it is to go on: it is neither over nor withdrawn, and there are cycles that would see somebody wait."""
    seen = measurement.cluster.observed_at
    is_watched = seen is not None and clock.now() - seen < UNWATCHED
    return measurement.state == MeasurementState.SUBMITTED and is_watched


def change_rule(
    partition: Partition, values: Mapping[str, Any], *, actor: str, reason: str, context: Context
) -> MeasuringRule:
    """How a partition is measured, from now on."""
    with transaction.atomic():
        rule = rule_of(partition)
        before = _written(rule)
        for name, value in values.items():
            setattr(rule, name, value)
        rule.save()
        if _written(rule) != before:
            record(
                actor=actor,
                action="power.rule_changed",
                subject=subject_of(partition),
                before=before,
                after=_written(rule),
                reason=reason,
                context=context,
            )
    return rule


def rule_of(partition: Partition) -> MeasuringRule:
    """The partition's rule; a new one, not saved, where it has none."""
    return MeasuringRule.objects.filter(partition=partition).first() or MeasuringRule(partition=partition)


def ask_now(
    partition: Partition, nodes: Sequence[Node], *, actor: str, context: Context
) -> list[Measurement]:
    """Measure nodes as soon as they are idle. Raises `ValidationError` where the partition does not measure."""
    rule = rule_of(partition)
    if not rule.enabled:
        raise ValidationError(_("Measuring is switched off here. Switch it on first."))
    with transaction.atomic():
        asked = ask(partition.cluster, rule, nodes, Cause.ASKED, by=actor)
        waiting = Measurement.objects.filter(cluster=partition.cluster, state=MeasurementState.ASKED)
        waiting.filter(node__in=[node.name for node in nodes]).update(not_before=None)
        if asked:
            record(
                actor=actor,
                action="power.asked",
                subject=subject_of(partition),
                after={"nodes": [row.node for row in asked]},
                context=context,
            )
    return asked


def tell_drivers(
    partition: Partition, told: Iterable[NewDriver], *, actor: str, reason: str, context: Context
) -> list[Measurement]:
    """What drivers nodes have now: those that have changed are to be measured anew, where the partition measures.

    Raises `ValidationError`; then nothing is changed.
    """
    rows = list(told)
    known = {node.name: node for node in nodes_of(partition)}
    for row in rows:
        if row.node not in known:
            raise ValidationError(_("%(where)s: the partition has no such node.") % {"where": row.node})
    with transaction.atomic():
        changed = note_drivers(partition.cluster, rows)
        rule = rule_of(partition)
        nodes = [known[row.node] for row in changed if row.resource == rule.resource]
        asked = ask(partition.cluster, rule, nodes, Cause.DRIVER, by=actor) if rule.enabled else []
        if changed:
            record(
                actor=actor,
                action="power.driver_told",
                subject=subject_of(partition),
                after={
                    f"{row.node} {row.resource}": f"{row.driver} {row.firmware}".strip() for row in changed
                },
                reason=reason,
                context=context,
            )
    return asked


def set_figures(
    partition: Partition,
    told: Iterable[NewReading],
    source: Source,
    *,
    actor: str,
    reason: str,
    context: Context,
) -> list[Processor]:
    """Put figures in force that people know. Raises `ValidationError`; then nothing is changed."""
    rows = list(told)
    for row in rows:
        _check(partition, row)
    with transaction.atomic():
        changed = figures.record(partition.cluster, rows, source, by=actor)
        record(
            actor=actor,
            action="power.set",
            subject=subject_of(partition),
            before={_key(each): each.before for each in changed},
            after={_key(each): each.figure for each in changed},
            reason=reason,
            context=context,
        )
    return changed


def _check(partition: Partition, row: NewReading) -> None:
    """A figure is of a processor that the partition has."""
    where = f"{row.node} {row.resource} {row.device}"
    node = Node.objects.filter(cluster=partition.cluster, name=row.node).first()
    if node is None or partition.name not in node.partitions:
        raise ValidationError(_("%(where)s: the partition has no such node.") % {"where": where})
    if not 0 <= row.device < max(1, int(node.total.get(row.resource, 0))) or not node.total.get(row.resource):
        raise ValidationError(_("%(where)s: the node has no such processor.") % {"where": where})
    if not 0 < row.seconds <= LONGEST:
        raise ValidationError(_("%(where)s: the seconds must be above 0.") % {"where": where})


def _check_open(measurement: Measurement, device: int) -> None:
    """Under a lock: of two that tell the same one is first."""
    row = Measurement.objects.select_for_update().get(pk=measurement.pk)
    if row.state != MeasurementState.SUBMITTED:
        raise AlreadyToldError(_("This measurement is over."))
    if device >= row.devices:
        raise AlreadyToldError(_("This measurement is of %(n)s processors.") % {"n": row.devices})


def _written(rule: MeasuringRule) -> dict[str, Any]:
    names = ("enabled", "resource", "at_most", "every_days", "limit_s")
    return {name: getattr(rule, name) for name in names}


def _key(processor: Processor) -> str:
    return f"{processor.node} {processor.resource} {processor.device}"


def _subject(cluster: Cluster, partition: str, processor: Processor) -> Subject:
    label = f"{processor.node}, {processor.resource} {processor.device}"
    return Subject("node", processor.node, label, cluster=cluster.name, partition=partition)

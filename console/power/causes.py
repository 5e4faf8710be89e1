"""What makes a node's figures doubtful: it was booted anew, or has another driver or firmware."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any

from console.cluster.models import Cluster, Node
from console.core import clock
from console.power.measuring import ask
from console.power.models import Cause, Measurement, MeasuringRule, NodeBoot, Processor, ToldDriver

SAME_BOOT_S = 120
"""Slurm reckons the moment of booting from how long a node is up: it may be told a little differently each time."""
SPREAD = timedelta(minutes=30)
"""Within so long after they are seen, nodes that were booted together are measured, each at a moment of its own."""


@dataclass(frozen=True, slots=True)
class NewDriver:
    """The driver and firmware that a node's processors of a kind have now."""

    node: str
    resource: str
    driver: str = ""
    firmware: str = ""


def note_boots(cluster: Cluster, nodes: Iterable[Node], rules: Sequence[MeasuringRule]) -> None:
    """Remember when nodes were booted; whoever was booted anew is measured within `SPREAD`."""
    known = dict(NodeBoot.objects.filter(cluster=cluster).values_list("node", "booted"))
    told = [node for node in nodes if node.up and node.booted]
    new = [node for node in told if node.booted > known.get(node.name, 0) + SAME_BOOT_S]
    for node in new:
        mine = [rule for rule in rules if rule.partition.name in node.partitions]
        for rule in mine if node.name in known else ():
            ask(
                cluster, rule, [node], Cause.REBOOTED, not_before=clock.now() + spread(node.name, node.booted)
            )
    NodeBoot.objects.bulk_create(
        [NodeBoot(cluster=cluster, node=node.name, booted=node.booted) for node in new],
        update_conflicts=True,
        unique_fields=["cluster", "node"],
        update_fields=["booted"],
    )


def spread(node: str, booted: int) -> timedelta:
    """How long a node is let wait: the same for this boot whenever it is asked, another for each node."""
    chance = int.from_bytes(sha256(f"{node} {booted}".encode()).digest()[:2]) / 65_536
    return SPREAD * chance


def note_drivers(cluster: Cluster, told: Iterable[NewDriver]) -> list[NewDriver]:
    """Remember what was told; what is another driver or firmware than before. Must run inside a transaction.

    What was never told before is a change only where the figures in force are of another one.
    """
    changed = []
    for each in told:
        key: dict[str, Any] = {"cluster": cluster, "node": each.node, "resource": each.resource}
        before = set(ToldDriver.objects.filter(**key).values_list("driver", "firmware"))
        ToldDriver.objects.update_or_create(
            **key, defaults={"driver": each.driver, "firmware": each.firmware}
        )
        if not before:
            before = set(Processor.objects.filter(**key).values_list("driver", "firmware")) - {("", "")}
        if before and before != {(each.driver, each.firmware)}:
            changed.append(each)
    return changed


def driver_of(measurement: Measurement, driver: str, firmware: str) -> tuple[str, str]:
    """A measurement's driver and firmware: its own words, else what was told last."""
    if driver or firmware:
        return driver, firmware
    rows = ToldDriver.objects.filter(
        cluster=measurement.cluster, node=measurement.node, resource=measurement.resource
    )
    return rows.values_list("driver", "firmware").first() or ("", "")


def ask_after_change(measurement: Measurement) -> list[Measurement]:
    """Measure a node once more whose figures rest on one reading, because its driver or firmware is another now."""
    rows = Processor.objects.filter(
        cluster=measurement.cluster, node=measurement.node, resource=measurement.resource
    )
    rule = _rule_for(measurement)
    node = Node.objects.filter(cluster=measurement.cluster, name=measurement.node).first()
    if rule is None or node is None or not rows.filter(readings=1, before__isnull=False).exists():
        return []
    return ask(measurement.cluster, rule, [node], Cause.DRIVER)


def _rule_for(measurement: Measurement) -> MeasuringRule | None:
    """The rule under which a measurement is made, where it is still in force."""
    rules = MeasuringRule.objects.filter(
        enabled=True, partition__cluster=measurement.cluster, partition__name=measurement.partition
    )
    return rules.select_related("partition").first()

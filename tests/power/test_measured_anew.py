"""What makes a node be measured anew besides its age and a repair: a boot, another driver or firmware."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction

from console.audit.models import AuditEntry
from console.audit.services import NO_CONTEXT
from console.cluster.models import Node
from console.core import clock
from console.power.causes import SPREAD, NewDriver, note_boots, spread
from console.power.figures import NewReading, record
from console.power.measuring import ask, measure
from console.power.models import Cause, Measurement, MeasurementState, Processor, Source
from console.power.selectors import rules_in_force
from console.power.services import ask_now, tell_drivers, tell_result
from tests.power.conftest import Site

BOOTED = 1_700_000_000


@pytest.fixture
def known(site: Site) -> Site:
    """All are measured, under driver 1, and were booted at the same moment."""
    told = [NewReading(f"n{i}", "gpu", device, 10, "1") for i in range(1, 5) for device in (0, 1)]
    record(site.partition.cluster, told, Source.MEASURED)
    boot(site, BOOTED)
    return site


def boot(site: Site, at: int, *names: str) -> list[str]:
    """Nodes (all, unless named) tell that they were booted then; who is to be measured for it."""
    nodes = Node.objects.filter(cluster=site.partition.cluster)
    (nodes.filter(name__in=names) if names else nodes).update(booted=at)
    note_boots(site.partition.cluster, nodes.all(), rules_in_force(site.partition.cluster))
    return sorted(Measurement.objects.filter(cause=Cause.REBOOTED).values_list("node", flat=True))


def test_what_is_booted_anew_is_measured_anew(known: Site) -> None:
    assert not Measurement.objects.exists(), "the first that is told of a node is no reboot"
    assert boot(known, BOOTED + 60) == [], "the same boot, told a little later"
    assert boot(known, BOOTED + 3600, "n2") == ["n2"]
    assert boot(known, BOOTED + 3600, "n2") == ["n2"], "once"
    assert boot(known, 0, "n3") == ["n2"], "not told"


def test_nodes_of_a_rebooted_cluster_are_not_measured_all_at_once(known: Site) -> None:
    known.rule.at_most = 100
    known.rule.save()
    assert boot(known, BOOTED + 3600) == ["n1", "n2", "n3", "n4"]
    waits = {row.not_before for row in Measurement.objects.all()}
    assert len(waits) == 4
    now = clock.now()
    assert all(at is not None and now - timedelta(minutes=1) < at <= now + SPREAD for at in waits)
    Measurement.objects.update(not_before=now + timedelta(minutes=1))
    Measurement.objects.filter(node="n3").update(not_before=now)
    assert [row.node for row in measure(known.partition.cluster, known.bench)] == ["n3"]


def test_the_moments_are_spread_over_the_whole_time() -> None:
    parts = [spread(f"n{i}", BOOTED) / SPREAD for i in range(400)]
    assert 0 <= min(parts) < 0.05 < 0.95 < max(parts) < 1
    assert 0.4 < sum(parts) / len(parts) < 0.6


def test_a_node_that_comes_back_booted_anew_waits_its_turn(known: Site) -> None:
    Node.objects.filter(name="n2").update(up=False, state="DOWN")
    measure(known.partition.cluster, known.bench)
    Node.objects.filter(name="n2").update(up=True, state="IDLE")
    boot(known, BOOTED + 3600, "n2")
    measure(known.partition.cluster, known.bench)
    assert [row.cause for row in Measurement.objects.all()] == [Cause.REBOOTED]


def test_a_click_does_not_wait(known: Site) -> None:
    boot(known, BOOTED + 3600, "n2")
    ask_now(known.partition, list(Node.objects.filter(name="n2")), actor="dave", context=NO_CONTEXT)
    assert [row.node for row in measure(known.partition.cluster, known.bench)] == ["n2"]


def tell(site: Site, node: str, driver: str, firmware: str = "") -> list[str]:
    told = [NewDriver(node, "gpu", driver, firmware)]
    asked = tell_drivers(site.partition, told, actor="dave", reason="Updated", context=NO_CONTEXT)
    return [row.node for row in asked]


def test_a_driver_that_is_told_and_is_another_one_has_the_node_measured(known: Site) -> None:
    assert tell(known, "n1", "1") == [], "as it was measured"
    assert tell(known, "n1", "2") == ["n1"]
    assert Measurement.objects.get().cause == Cause.DRIVER
    assert tell(known, "n1", "2") == []
    Measurement.objects.update(state=MeasurementState.DONE)
    assert tell(known, "n1", "2") == [], "told as often as one likes"
    assert tell(known, "n1", "2", "7") == ["n1"], "another firmware"
    assert AuditEntry.objects.filter(action="power.driver_told").count() == 2
    with pytest.raises(ValidationError, match="no such node"):
        tell(known, "n9", "2")


def test_nobody_is_measured_where_the_partition_does_not(known: Site) -> None:
    known.rule.enabled = False
    known.rule.save()
    tell(known, "n1", "1")
    assert tell(known, "n1", "2") == []


def finish(site: Site, driver: str) -> None:
    """n1 is measured, and its benchmark tells a driver."""
    ask(site.partition.cluster, site.rule, site.nodes[:1], Cause.ASKED)
    row = Measurement.objects.get(state=MeasurementState.ASKED)
    Measurement.objects.filter(pk=row.pk).update(state=MeasurementState.SUBMITTED, submitted_at=clock.now())
    for device in (0, 1):
        with transaction.atomic():
            tell_result(Measurement.objects.get(pk=row.pk), device, 11, driver=driver)


def test_a_driver_that_a_measurement_tells_has_the_node_measured_once_more(known: Site) -> None:
    finish(known, "2")
    wish = Measurement.objects.get(state=MeasurementState.ASKED)
    assert (wish.node, wish.cause) == ("n1", Cause.DRIVER), "one reading is little"
    assert Processor.objects.get(node="n1", device=0).figure == 11, "what was read before does not count"
    finish(known, "2")
    assert not Measurement.objects.filter(state=MeasurementState.ASKED).exists()


def test_a_benchmark_that_tells_no_driver_has_the_one_that_was_told(known: Site) -> None:
    tell(known, "n1", "2")
    finish(known, "")
    assert set(Processor.objects.filter(node="n1").values_list("driver", "readings")) == {("2", 1)}

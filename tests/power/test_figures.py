"""The figure in force: the median of the last three readings that may be compared."""

import pytest
from django.core.exceptions import ValidationError

from console.audit.models import AuditEntry
from console.audit.services import NO_CONTEXT
from console.power.figures import NewReading, read_table, record
from console.power.models import Processor, Source
from console.power.selectors import jumped, outliers, with_powers
from console.power.services import set_figures
from scheduler.model.observation import Observation
from tests.builders import node
from tests.power.conftest import Site


def read(
    site: Site, *seconds: float, device: int = 0, source: Source = Source.MEASURED, driver: str = ""
) -> Processor:
    """Readings one after the other; the figure in force then."""
    for each in seconds:
        record(site.partition.cluster, [NewReading("n1", "gpu", device, each, driver)], source)
    return Processor.objects.get(node="n1", device=device)


@pytest.mark.parametrize(
    ("seconds", "figure"),
    [((10,), 10), ((10, 12), 11), ((10, 12, 30), 12), ((10, 12, 30, 31), 30)],
)
def test_it_is_the_median_of_the_last_three(site: Site, seconds: tuple[float, ...], figure: float) -> None:
    assert read(site, *seconds).figure == figure


def test_what_was_measured_before_a_figure_was_typed_does_not_count(site: Site) -> None:
    read(site, 10, 10, 10)
    assert read(site, 20, source=Source.TYPED).figure == 20
    assert read(site, 22).figure == 21


def test_under_another_driver_it_is_measured_anew(site: Site) -> None:
    read(site, 10, 10, driver="535")
    after = read(site, 14, driver="550")
    assert (after.figure, after.readings, after.before) == (14, 1, 10)
    assert jumped(after)


def test_the_planner_is_told_a_node_whose_processors_are_all_known(site: Site) -> None:
    read(site, 10, device=0)
    seen = Observation("sim", 0, (node("n1", total={"gpu": 2}), node("n2", total={"gpu": 2})))
    assert with_powers(site.partition.cluster, seen).nodes[0].power == {}
    read(site, 11, device=1)
    told = with_powers(site.partition.cluster, seen)
    assert [each.power for each in told.nodes] == [{"gpu": (10.0, 11.0)}, {}]
    record(site.partition.cluster, [NewReading("n2", "cpu", 0, 3.5)], Source.MEASURED)
    assert with_powers(site.partition.cluster, seen).nodes[1].power == {"cpu": 3.5}


def test_one_far_from_its_kind_stands_out(site: Site) -> None:
    for device in range(4):
        read(site, 10, device=device)
    read(site, 12, 12, 12, device=4)
    (found,) = outliers(list(Processor.objects.all()), {})
    assert (found.processor.device, found.percent, found.siblings) == (4, 20, 4)


def test_a_table_is_read_with_or_without_its_head() -> None:
    rows = [NewReading("n1", "gpu", 0, 12.5), NewReading("n2", "gpu", 1, 13.0)]
    assert read_table("node,resource,device,seconds\nn1,gpu,0,12.5\n\n n2 , gpu,1,13\n") == rows
    assert read_table("n1,gpu,0,12.5\nn2,gpu,1,13") == rows


@pytest.mark.parametrize("line", ["n1,gpu,0", "n1,gpu,first,3", "n1,gpu,0,soon", "n1;gpu;0;3"])
def test_a_bad_line_is_named(line: str) -> None:
    with pytest.raises(ValidationError, match="Line 2 is not node,resource,device,seconds"):
        read_table(f"n1,gpu,0,12.5\n{line}")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (NewReading("n9", "gpu", 0, 3), "n9 gpu 0: the partition has no such node"),
        (NewReading("n1", "gpu", 2, 3), "n1 gpu 2: the node has no such processor"),
        (NewReading("n1", "tpu", 0, 3), "n1 tpu 0: the node has no such processor"),
        (NewReading("n1", "gpu", 0, 0), "n1 gpu 0: the seconds must be above 0"),
        (NewReading("n1", "gpu", 0, float("nan")), "n1 gpu 0: the seconds must be above 0"),
    ],
)
def test_a_figure_of_nothing_puts_no_figure_in_force(site: Site, row: NewReading, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        set_figures(
            site.partition, [NewReading("n1", "gpu", 0, 3), row], Source.TYPED,
            actor="ada", reason="Vendor's sheet", context=NO_CONTEXT,
        )  # fmt: skip
    assert not Processor.objects.exists()


def test_what_people_set_stands_in_the_audit_log(site: Site) -> None:
    read(site, 10)
    set_figures(
        site.partition, [NewReading("n1", "gpu", 0, 3)], Source.TYPED,
        actor="ada", reason="Vendor's sheet", context=NO_CONTEXT,
    )  # fmt: skip
    row = AuditEntry.objects.get(action="power.set")
    assert (row.actor, row.before, row.after) == ("ada", {"n1 gpu 0": 10.0}, {"n1 gpu 0": 3.0})

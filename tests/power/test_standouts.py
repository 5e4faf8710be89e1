"""Processors that stand out: opened, closed by a later figure, left, opened again."""

import pytest

from console.audit.models import AuditEntry
from console.audit.services import NO_CONTEXT
from console.cluster.models import Node
from console.power.deciding import leave
from console.power.figures import NewReading, record
from console.power.models import PowerIncident, Source
from console.power.standouts import follow_figures
from tests.power.conftest import Site


def tell(site: Site, *seconds: float, source: Source = Source.MEASURED, times: int = 1) -> int:
    """What all processors take, node by node, three times over so that the middle one follows; how many changed."""
    told = [NewReading(f"n{1 + i // 2}", "gpu", i % 2, each) for i, each in enumerate(seconds)]
    for _ in range(times):
        record(site.partition.cluster, told, source)
    return follow_figures(site.partition.cluster)


def only() -> PowerIncident:
    return PowerIncident.objects.get()


def test_one_far_from_its_kind_is_an_incident_until_a_later_figure_is_ordinary(site: Site) -> None:
    assert tell(site, *[10] * 7, 11.8) == 1
    row = only()
    assert (row.state, row.words) == ("open", "n4, gpu 1, is 18 % slower than the middle of its 7 siblings.")
    assert tell(site, *[10] * 7, 11.8) == 1, "the same, measured later"
    assert only().state == "open"
    tell(site, *[10] * 7, 10.1, times=2)
    assert (only().state, only().close_reason) == ("closed", "A later figure is ordinary: 10.1 s.")
    assert list(AuditEntry.objects.order_by("sequence").values_list("action", flat=True)) == [
        "power.incident_opened",
        "power.incident_closed",
    ]


def test_a_fast_one_and_a_small_difference_are_none(site: Site) -> None:
    assert tell(site, *[10] * 6, 8, 10.9) == 0


def test_it_looks_only_when_figures_have_changed(site: Site) -> None:
    tell(site, *[10] * 7, 12)
    PowerIncident.objects.update(figure=1.0)
    assert follow_figures(site.partition.cluster) == 0
    assert only().figure == 1.0


def test_models_are_compared_with_their_own(site: Site) -> None:
    for name, model in (("n1", "a100"), ("n2", "a100"), ("n3", "v100"), ("n4", "v100")):
        Node.objects.filter(name=name).update(total={"cpu": 8, "gpu": 2, f"gpu:{model}": 2})
    assert tell(site, *[10] * 4, *[20] * 4) == 0
    assert tell(site, *[10] * 4, *[20] * 3, 26, times=3) == 1
    assert only().siblings == 3


def test_a_jump_is_one_among_few_too_and_ends_when_the_figure_is_back(site: Site) -> None:
    tell(site, 10, 10)
    assert tell(site, 10, 13) == 1
    row = only()
    assert (row.kind, row.words) == ("jumped", "n1, gpu 1, has become 15 % slower: 11.5 s instead of 10 s.")
    for _ in range(3):
        tell(site, 10, 13)
    assert only().state == "open", "it stays as slow"
    tell(site, 10, 10.5, times=3)
    assert only().state == "closed"


def test_becoming_faster_is_a_jump_only_away_from_its_kind(site: Site) -> None:
    tell(site, *[10] * 7, 10)
    tell(site, *[8] * 8, times=3)
    assert not PowerIncident.objects.exists(), "all have become faster"


def test_what_somebody_typed_is_no_jump(site: Site) -> None:
    tell(site, 10, 10)
    assert tell(site, 10, 15, source=Source.TYPED) == 0


def test_a_left_one_is_opened_again_only_when_it_is_clearly_worse(site: Site) -> None:
    tell(site, *[10] * 7, 11.5)
    leave(only(), actor="dave", reason="In the hot rack", context=NO_CONTEXT)
    assert (only().state, only().left_by, only().times) == ("left", "dave", 1)
    leave(only(), actor="ada", reason="Again", context=NO_CONTEXT)
    assert only().left_by == "dave", "left once"
    tell(site, *[10] * 7, 11.9, times=3)
    assert only().state == "left"
    tell(site, *[10] * 7, 12.2, times=3)
    row = only()
    assert (row.state, row.times, round(row.share, 2)) == ("open", 2, 0.22)
    assert AuditEntry.objects.filter(action="power.incident_opened").count() == 2


def test_a_new_trouble_is_a_new_incident(site: Site) -> None:
    tell(site, *[10] * 7, 12)
    tell(site, *[10] * 8, times=2)
    tell(site, *[10] * 7, 12, times=3)
    assert list(PowerIncident.objects.order_by("id").values_list("state", flat=True)) == ["closed", "open"]


@pytest.mark.parametrize(("between", "state"), [(10.9, "open"), (10.7, "closed")])
def test_in_between_it_does_not_come_and_go(site: Site, between: float, state: str) -> None:
    tell(site, *[10] * 7, 12)
    tell(site, *[10] * 7, between, times=3)
    assert only().state == state

"""The page of a partition's compute power."""

from typing import Any

import pytest
from django.test import Client

from console.audit.services import NO_CONTEXT
from console.cluster.models import Node
from console.power.figures import NewReading, record
from console.power.models import Measurement, MeasuringRule, Processor, Source
from console.power.selectors import nodes_of
from console.power.services import change_rule
from tests import factories
from tests.markup import words_of
from tests.ui.conftest import House, SignedIn, house, house_of_the_module, signed_in

__all__ = ["house", "house_of_the_module", "signed_in"]
AT = "/partitions/x/power/"
RULE = {
    "enabled": "on",
    "resource": "gpu",
    "at_most": "2",
    "every_days": "7",
    "limit_s": "300",
    "reason": "Begin",
}


@pytest.fixture
def gpu_node(house: House) -> Node:
    """A node of x with four GPUs."""
    found = nodes_of(house.x)[0]
    Node.objects.filter(pk=found.pk).update(total={"cpu": 8, "gpu": 4})
    return found


def test_it_says_what_is_known_and_what_stands_out(house: House, gpu_node: Node, signed_in: SignedIn) -> None:
    told = [
        NewReading(gpu_node.name, "gpu", device, seconds) for device, seconds in enumerate((10, 10, 10, 12))
    ]
    record(house.cluster, told, Source.MEASURED)
    page = words_of(signed_in("vera").get(AT).content.decode())
    assert "The slowest processor takes 20 % longer than the fastest one, which takes 10 s." in page
    assert f"{gpu_node.name}, gpu 3, is 20 % slower than the middle of its 3 siblings." in page
    assert "Save" not in page, "a viewer changes nothing"


def test_without_figures_it_says_so(house: House, signed_in: SignedIn) -> None:
    assert "Nothing is measured yet." in words_of(signed_in("vera").get(AT).content.decode())


def test_its_administrator_says_how_it_is_measured(house: House, signed_in: SignedIn) -> None:
    answer = signed_in("dave").post(AT + "rule/", RULE)
    assert answer.status_code == 302
    rule = MeasuringRule.objects.get()
    assert (rule.enabled, rule.at_most, rule.every_days, rule.limit_s) == (True, 2, 7, 300)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"at_most": "0"}, "greater than or equal to 1"),
        ({"limit_s": "5"}, "greater than or equal to 60"),
        ({"resource": ""}, "required"),
        ({"reason": ""}, "Say why"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(
    change: dict[str, str], message: str, house: House, signed_in: SignedIn
) -> None:
    answer = signed_in("dave").post(AT + "rule/", RULE | change)
    assert (answer.status_code, message in answer.content.decode()) == (422, True)
    assert not MeasuringRule.objects.exists()


def test_measuring_now_is_asked_for_by_node_or_for_all(
    house: House, gpu_node: Node, signed_in: SignedIn
) -> None:
    dave = signed_in("dave")
    off = dave.post(AT + "measure/", follow=True)
    assert "Measuring is switched off here." in off.content.decode()
    rule = {"enabled": True, "resource": "gpu"}
    change_rule(house.x, rule, actor="dave", reason="Begin", context=NO_CONTEXT)
    dave.post(AT + "measure/", {"node": gpu_node.name})
    assert [row.node for row in Measurement.objects.all()] == [gpu_node.name]
    dave.post(AT + "measure/")
    with_gpus = [node for node in nodes_of(house.x) if node.total.get("gpu")]
    assert Measurement.objects.count() == len(with_gpus), "each once"


@pytest.mark.parametrize(("lines", "source"), [(1, "typed"), (2, "imported")])
def test_figures_are_written_down(
    lines: int, source: str, house: House, gpu_node: Node, signed_in: SignedIn
) -> None:
    table = "\n".join(f"{gpu_node.name},gpu,{device},12.5" for device in range(lines))
    answer = signed_in("dave").post(AT + "figures/", {"table": table, "reason": "Vendor's sheet"})
    assert answer.status_code == 302
    assert set(Processor.objects.values_list("source", flat=True)) == {source}


@pytest.mark.parametrize("table", ["", "n1,gpu", "nowhere,gpu,0,3", "<b>,gpu,0,3"])
def test_a_table_that_makes_no_sense_stays_in_the_form(table: str, house: House, signed_in: SignedIn) -> None:
    answer = signed_in("dave").post(AT + "figures/", {"table": table, "reason": "Try"})
    assert answer.status_code == 422
    assert "<b>,gpu" not in answer.content.decode()
    assert not Processor.objects.exists()


@pytest.mark.parametrize("part", ["rule/", "measure/", "figures/"])
@pytest.mark.parametrize("role", ["vera", "otto"])
def test_others_only_read(part: str, role: str, house: House, signed_in: SignedIn) -> None:
    data: dict[str, Any] = RULE | {"table": "n1,gpu,0,3"}
    browser: Client = signed_in(role)
    assert browser.get(AT).status_code == 200
    assert browser.post(AT + part, data).status_code == 403
    assert not MeasuringRule.objects.exists()
    assert not Processor.objects.exists()


def test_a_running_jobs_page_says_how_even_its_processors_are(
    house: House, gpu_node: Node, signed_in: SignedIn
) -> None:
    told = [NewReading(gpu_node.name, "gpu", device, 10.0 + 3 * (device == 3)) for device in range(4)]
    record(house.cluster, told, Source.MEASURED)
    factories.make_running_job(house.cluster, "8801", alloc={gpu_node.name: {"cpu": 4, "gpu": 2}})
    page = words_of(signed_in("vera").get("/jobs/8801/").content.decode())
    assert "its processors take 10 to 13 s" in page
    assert "a job that waits for the slowest runs 30 % longer than on processors of middle speed" in page
    factories.make_running_job(house.cluster, "8802", alloc={gpu_node.name: {"cpu": 4, "gpu": 1}})
    assert "its processors take" not in signed_in("vera").get("/jobs/8802/").content.decode()

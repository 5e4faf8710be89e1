"""The timeline of a partition: minutes put together into steps, plots drawn from them, and their numbers as a table."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from console.core import clock
from console.history.models import PartitionMinute
from console.history.timeline import SPANS, TimelineStep, read_days, read_timeline
from console.overview.plots import HEIGHT, LEFT, PLAIN, WIDTH, Plot, Scale, plot
from tests import factories
from tests.markup import flat
from tests.ui.conftest import House

NOW = datetime(2026, 3, 2, 12, 7, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


def minute(house: House, ago: int, **fields: Any) -> PartitionMinute:
    """A line of so many minutes ago."""
    at = NOW.replace(second=0) - timedelta(minutes=ago)
    defaults = {
        "axis": "user",
        "total": {"gpu": 8, "cpu": 64},
        "used": {"gpu": 4},
        "pending": {"0": 2, "none": 1},
    }
    return PartitionMinute.objects.create(
        cluster=house.cluster, partition="x", at=at, **{**defaults, **fields}
    )


# --- Steps ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("span", "count"), [("6h", 72), ("24h", 96), ("7d", 84)])
def test_a_span_is_cut_into_equal_steps_that_end_now(span: str, count: int, house: House) -> None:
    found = read_timeline(house.x, span)
    assert len(found.steps) == count
    assert found.steps[-1].at <= NOW < found.steps[-1].at + SPANS[span].step
    assert {b.at - a.at for a, b in zip(found.steps, found.steps[1:], strict=False)} == {SPANS[span].step}
    assert not found.seen


def test_a_span_that_there_is_not_is_the_usual_one(house: House) -> None:
    assert read_timeline(house.x, "1000000d").span == "24h"


def test_what_holds_is_averaged_and_what_comes_to_pass_is_added_up(house: House) -> None:
    minute(house, 1, used={"gpu": 8}, stops=1, work_lost={"gpu": 3600.0}, started={"0": [1, 60]})
    minute(
        house,
        2,
        used={"gpu": 2},
        pending={"0": 4},
        stops=2,
        work_lost={"gpu": 7200.0},
        started={"0": [3, 540]},
    )
    minute(house, 60 * 25, stops=99)
    other = minute(house, 3, stops=50)
    other.partition = "y"
    other.save()
    found = read_timeline(house.x, "24h")
    last = found.steps[-1]
    assert (last.minutes, last.share("gpu"), last.mean("0"), last.mean("none")) == (2, 0.625, 3.0, 0.5)
    assert (last.stops, last.work_lost, last.starts) == (3, {"gpu": 10800.0}, 4)
    assert (found.stops, found.busy, found.levels) == (3, 0.625, ["0", "none"])
    [wait] = found.waits
    assert (wait.level, wait.jobs, wait.mean_s) == ("0", 4, 150.0)


def test_a_minute_belongs_to_the_step_that_begins_with_it(house: House) -> None:
    for ago, stops in ((8, 1), (7, 2), (22, 4), (23, 8)):
        minute(house, ago, stops=stops)
    steps = [step for step in read_timeline(house.x, "24h").steps if step.minutes]
    assert [(f"{step.at:%H:%M}", step.minutes, step.stops) for step in steps] == [
        ("11:30", 1, 8),
        ("11:45", 2, 5),
        ("12:00", 1, 2),
    ]


def test_nobody_looked_is_not_nothing_was_busy(house: House) -> None:
    minute(house, 1, used={}, pending={})
    found = read_timeline(house.x, "24h")
    assert found.steps[-1].share("gpu") == 0.0
    assert found.steps[-2].share("gpu") is None


@pytest.mark.parametrize(
    ("total", "resource"), [({"gpu": 8, "cpu": 1}, "gpu"), ({"npu": 8, "cpu": 1}, "npu"), ({"cpu": 4}, "cpu")]
)
def test_the_dearest_resource_is_plotted(total: Mapping[str, int], resource: str, house: House) -> None:
    minute(house, 1, total=total)
    assert read_timeline(house.x, "24h").resource == resource


def test_days_of_several_partitions_are_what_each_has_by_itself_in_one_query(
    house: House, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for ago in (1, 2, 61, 600, 60 * 30):
        other = minute(house, ago, pending={"1": 9}, stops=1)
        PartitionMinute.objects.filter(pk=other.pk).update(partition="y")
        minute(house, ago, running={"0": ago, "none": 1}, stops=ago)
    with django_assert_num_queries(1):
        days = read_days(house.cluster.pk, ["x", "y", "empty"])
    alone = read_timeline(house.x, "24h")
    assert days["x"].stops == alone.stops == 664
    assert (days["x"].busy, days["x"].levels, days["x"].resource) == (
        alone.busy,
        alone.levels,
        alone.resource,
    )
    assert len(days["x"].steps) == 24 and days["x"].steps[-1].minutes == 2
    assert days["x"].steps[-1].ran("0") == 1.5 and days["x"].running_levels == ["0", "none"]
    assert (days["y"].stops, days["y"].levels, days["y"].running_levels) == (4, ["1"], [])
    assert not days["empty"].seen


# --- Plots ------------------------------------------------------------------------------------------------


def drawn(steps: list[TimelineStep], most: float = 0) -> Plot:
    def values(step: TimelineStep) -> list[tuple[str, float]]:
        return [("lv-0", step.mean("0")), (PLAIN, float(step.stops))]

    return plot("k", "t", "s", steps, values, Scale(str, most))


def test_columns_stand_on_each_other_and_fit_the_scale() -> None:
    start = NOW - timedelta(hours=1)
    steps = [
        TimelineStep(start, minutes=1, pending={"0": 1.0}, stops=3),
        TimelineStep(start + timedelta(minutes=15)),
        TimelineStep(start + timedelta(minutes=30), minutes=2, pending={"0": 2.0}),
    ]
    made = drawn(steps)
    assert len(made.columns) == 2, "nobody looked in the second step"
    low, high = made.columns[0].parts
    assert float(low.height) * 3 == pytest.approx(float(high.height), abs=0.1)
    assert float(high.y) + float(high.height) == pytest.approx(float(low.y), abs=0.02)
    assert float(high.y) == pytest.approx(Plot.top, abs=0.02), "the highest column ends at the top"
    assert float(low.y) + float(low.height) == pytest.approx(Plot.base, abs=0.02)
    [alone] = made.columns[1].parts
    assert alone.css == "lv-0"
    assert float(made.columns[1].x) == pytest.approx(LEFT + 2 * (WIDTH - LEFT) / 3, abs=0.01)
    assert [mark.text for mark in made.rows] == ["0.0", "2.0", "4.0"]


def test_a_fixed_scale_holds_and_nothing_leaves_the_plot() -> None:
    [column] = drawn([TimelineStep(NOW, minutes=1, stops=50)], most=10).columns
    [part] = column.parts
    assert float(part.y) >= 0
    assert float(part.y) + float(part.height) <= HEIGHT


def test_no_steps_and_only_nothing_are_no_fault() -> None:
    assert drawn([]).columns == []
    assert drawn([TimelineStep(NOW, minutes=1)]).columns[0].parts == []


# --- The page ---------------------------------------------------------------------------------------------


def test_the_page_shows_plots_and_the_same_numbers_as_a_table(house: House, ada: Client) -> None:
    minute(house, 1, used={"gpu": 6}, stops=2, work_lost={"gpu": 5400.0}, started={"1": [2, 240]})
    page = flat(ada.get("/partitions/x/timeline/"))
    assert page.count('<figure class="plot"') == 4
    assert "75 % over the whole time" in page
    assert "1.5 GPU-hours" in page
    table = page[page.index('id="numbers"') :]
    row = table[table.index("<tbody>") :].partition("</tr>")[0]
    assert re.findall(r'<td class="num">([^<]*)</td>', row) == ["75 %", "2", "0", "1", "2", "2", "1.5 GPU-h"]
    assert re.findall(r'<th scope="col" class="num">([^<]*)</th>', table)[1:4] == [
        "P0 waiting",
        "P1 waiting",
        "unconfigured waiting",
    ]
    waits = page[page.index('id="waits-head"') :].partition("</section>")[0]
    assert "2 min" in waits
    assert 'width="100%"' in waits


def test_a_partition_without_a_record_says_when_there_will_be_one(house: House, ada: Client) -> None:
    page = ada.get("/partitions/x/timeline/?span=7d").content.decode()
    assert "Nothing is recorded for this time yet." in page
    assert "<figure" not in page
    assert '<a href="?span=7d" aria-current="true">7 days</a>' in page


def test_quota_use_counts_users_by_level(house: House, ada: Client) -> None:
    for i, (user, level) in enumerate(
        (("ann", 1), ("ann", 1), ("ann", 1), ("bob", 1), ("bob", None), ("cy", 0))
    ):
        factories.make_running_job(house.cluster, str(700 + i), user=user, task_level=level)
    factories.make_job(house.cluster, "799", user="bob", task_level=1)
    page = flat(ada.get("/partitions/x/timeline/"))
    quota = page[page.index('id="quota-head"') :].partition("</section>")[0]
    assert re.findall(r"<span>(\d+ / \d+)</span>", quota) == ["1 / 1", "3 / 3"]
    assert re.findall(r'<td class="num tight">(\d+)</td>', quota) == ["1", "1", "2", "1"]


def test_a_week_of_minutes_asks_no_more(
    house: House, ada: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    base = NOW.replace(second=0)
    PartitionMinute.objects.bulk_create(
        PartitionMinute(
            cluster=house.cluster,
            partition="x",
            at=base - timedelta(minutes=i),
            axis="user",
            total={"gpu": 8},
        )
        for i in range(3000)
    )
    with django_assert_max_num_queries(12):
        page = ada.get("/partitions/x/timeline/?span=7d").content.decode()
    assert page.count("<tr>") < 120

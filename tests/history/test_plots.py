"""Bars on one scale, with their numbers."""

import itertools

import pytest
from django.utils import translation

from console.core.l10n_format import short_duration
from console.history.plots import APART, BAR, BOTTOM, HEIGHT, LETTER, TOP, bars, number


def test_the_tallest_fills_the_height_and_the_others_are_in_proportion() -> None:
    plot = bars("t", ("a", "b"), [("P0", (2, 8)), ("P1", (0, 4))])
    room = HEIGHT - TOP - BOTTOM
    assert [[bar.height for bar in group.bars] for group in plot.groups] == [[room / 4, room], [0, room / 2]]
    assert all(bar.y + bar.height == plot.base for group in plot.groups for bar in group.bars)
    assert [bar.text for bar in plot.groups[0].bars] == ["2", "8"]
    edges = [bar.x for group in plot.groups for bar in group.bars]
    assert all(later - before >= BAR for before, later in itertools.pairwise(edges))
    assert edges[-1] + BAR <= plot.width


def test_texts_above_bars_stand_apart() -> None:
    """Two bars of 0.692 read as one number, 0.6920.692."""
    plot = bars("t", ("a", "b"), [("P0", (0.692, 0.692)), ("P1", (12345.0, 12345.0))])
    for group in plot.groups:
        one, other = group.bars
        assert other.middle - one.middle >= LETTER * len(one.text) + APART
        assert group.bars[-1].x + group.bars[-1].width <= plot.width


def test_nothing_and_only_zeros_are_plots_too() -> None:
    assert bars("t", ("a",), []).groups == ()
    [group] = bars("t", ("a",), [("P0", (0,))]).groups
    assert group.bars[0].height == 0


def test_series_keep_their_number_where_another_plot_has_more() -> None:
    plot = bars("t", ("now", "then"), [("a very long level", (1, 2))], first=1)
    assert plot.series == ((1, "now"), (2, "then"))
    assert [bar.series for bar in plot.groups[0].bars] == [1, 2]
    assert plot.groups[0].label == "a very l…"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.0004, "< 0.01"), (0.0767, "0.08"), (0.4321, "0.43"), (1, "1"), (4.321, "4.3"),
        (12, "12"), (123.4, "123"), (12345, "12.3k"),
    ],
)  # fmt: skip
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_durations_above_bars_stand_apart_in_both_languages(language: str) -> None:
    with translation.override(language):
        plot = bars("t", ("a", "b"), [("P0", (4, 54000)), ("P1", (5000, 400))], words=short_duration)
        texts = [bar.text for group in plot.groups for bar in group.bars]
    assert texts == (
        ["4 s", "15 h", "83 min", "6 min"] if language == "en" else ["4 秒", "15 小时", "83 分钟", "6 分钟"]
    )
    placed = [(bar.middle, _wide(bar.text)) for group in plot.groups for bar in group.bars]
    for (one, its), (other, others) in itertools.pairwise(placed):
        assert other - one >= (its + others) / 2, "no text touches the next one"


def _wide(label: str) -> int:
    """At 9 px."""
    return sum(9 if letter > "\u4e00" else 6 for letter in label)


def test_what_stands_under_the_groups_does_not_touch() -> None:
    """Chinese letters are as wide as they are high."""
    plot = bars("等待", ["现在"], [("demo P2", [6.67]), ("demo 未配置", [0.225]), ("cpu 未配置", [0])])
    first, second, third = (group.middle for group in plot.groups)
    wide, also_wide = 5 * 6 + 3 * 10, 4 * 6 + 3 * 10
    assert second - first >= (7 * 6 + wide) / 2 + APART
    assert third - second >= (wide + also_wide) / 2 + APART
    assert third + also_wide / 2 <= plot.width


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (89.4, "89 s"),
        (89.6, "1 min"),
        (239.9, "3 min"),  # as the table beside the plot has it
        (5399, "89 min"),
        (5400, "1.5 h"),
        (36000, "10 h"),
        (2e5, "2.3 d"),
    ],
)
def test_a_short_duration_has_one_unit(seconds: float, said: str) -> None:
    assert short_duration(seconds) == said

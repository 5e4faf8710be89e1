"""Bars on one scale, with their numbers."""

import itertools

import pytest

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


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (0.4321, "0.432"), (12, "12"), (12345, "12.3k")])
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text


def test_what_stands_under_the_groups_does_not_touch() -> None:
    """Chinese letters are as wide as they are high."""
    plot = bars("等待", ["现在"], [("demo P2", [6.67]), ("demo 未配置", [0.225]), ("cpu 未配置", [0])])
    first, second, third = (group.middle for group in plot.groups)
    wide, also_wide = 5 * 6 + 3 * 10, 4 * 6 + 3 * 10
    assert second - first >= (7 * 6 + wide) / 2 + APART
    assert third - second >= (wide + also_wide) / 2 + APART
    assert third + also_wide / 2 <= plot.width

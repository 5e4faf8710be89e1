"""Figures of processors stand below one another with as many digits each."""

from console.power.templatetags.power_map import _figure


def test_a_whole_number_of_seconds_has_the_digits_of_the_others() -> None:
    assert [_figure(seconds, "en") for seconds in (7.0, 7.07, 12.345)] == ["7.000", "7.070", "12.345"]

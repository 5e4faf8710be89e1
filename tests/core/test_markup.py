"""What is written by hand instead of by a template says the same, escapes the same and leads to the same place."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString
from django.utils.translation import override

from console.core import l10n_format
from console.core.markup import job_address, text, time_element
from console.core.templatetags.ui import level, state

HOSTILE = "<b onclick=\"x('1')\">&amp; o'clock\u202e"


@pytest.mark.parametrize("value", ["", "plain", HOSTILE, SafeString(HOSTILE), SafeString("<b>x</b>")])
def test_text_is_escaped_as_django_escapes_it(value: str) -> None:
    assert text(value) == conditional_escape(value)


@pytest.mark.parametrize("job_id", ["7", "7_12", "7+1", "7_[1-4]", "a b", 'é"<', "~:@!$&'()*,;="])
def test_a_jobs_address_is_the_one_that_reverse_writes(job_id: str) -> None:
    assert job_address(reverse("jobs"), job_id) == reverse("job", args=[job_id])


def test_durations_are_kept_by_language() -> None:
    with override("en"):
        assert l10n_format.duration(3 * 3600 + 60) == "3 h 1 min"
    with override("zh-hans"):
        chinese = l10n_format.duration(3 * 3600 + 60)
    assert chinese != "3 h 1 min"
    with override("en"):
        assert l10n_format.duration(3 * 3600 + 60) == "3 h 1 min"


def test_a_level_that_is_not_configured_is_kept_by_language() -> None:
    with override("en"):
        assert "unconfigured" in level(None)
    with override("zh-hans"):
        assert "unconfigured" not in level(None)


def test_a_state_is_escaped_whoever_asked_for_it_first() -> None:
    label = "<i>up</i> state"
    assert label in state("ok", SafeString(label))
    assert label not in state("ok", label)
    assert label in state("ok", SafeString(label))


def test_a_moment_is_told_in_the_zone_of_whoever_asks() -> None:
    moment = datetime(2026, 7, 1, 23, 30, tzinfo=UTC)
    with timezone.override(UTC):
        assert 'title="2026-07-01 23:30:00 UTC"' in time_element(moment, "ago", "<now>")
    with timezone.override(timezone.get_fixed_timezone(timedelta(hours=8))):
        told = time_element(moment, "ago", "<now>")
    assert 'title="2026-07-02 07:30:00 +0800"' in told
    assert 'datetime="2026-07-01T23:30:00+00:00"' in told
    assert ">&lt;now&gt;</time>" in told

"""The bar of the policy's page: changes with their effect now, and over the last day, each a line that unfolds."""

from datetime import timedelta

from console.core import clock
from console.history import past
from console.history.models import RecordedObservation
from tests.history.test_pages import ASKED, browser, people, typed_policy
from tests.markup import words_of
from tests.steering.conftest import Sim, sim

__all__ = ["people", "sim"]
AT = "/partitions/x/what-if/"


def test_nothing_changed_decides_nothing(people: Sim) -> None:
    dave = browser("dave")
    answer = dave.post(AT, typed_policy(dave, in_bar="now"), headers=ASKED).content.decode()
    assert "Nothing is changed: it is what is in force." in answer
    assert "<details" not in answer


def test_what_is_changed_stands_beside_what_it_does_now(people: Sim) -> None:
    dave = browser("dave")
    rows = {"users-TOTAL_FORMS": 1, "users-0-user": "alpha", "users-0-level": "P0", "users-0-until": ""}
    answer = dave.post(AT, typed_policy(dave, in_bar="now", grace_s="7", **rows), headers=ASKED)
    text = answer.content.decode()
    line = words_of(text.split("</summary>")[0])
    assert "2 changes." in line
    assert "Stops 1 more job (of beta)" in line
    assert "<del>30</del>" in " ".join(text.split()) or "<ins>7" in text
    assert '<details id="bar-now">' in text
    asked = dave.post(AT, typed_policy(dave, in_bar="now", unfold="1", grace_s="7"), headers=ASKED)
    assert '<details id="bar-now" open>' in asked.content.decode()


def test_what_makes_no_sense_yet_is_told_in_the_bar(people: Sim) -> None:
    dave = browser("dave")
    answer = dave.post(AT, typed_policy(dave, in_bar="now", grace_s="soon"), headers=ASKED).content.decode()
    assert "cannot be saved yet" in words_of(answer)
    assert "Grace:" in answer


def test_the_last_day_follows_where_it_can_be_answered_at_once(people: Sim) -> None:
    dave = browser("dave")
    now = dave.post(AT, typed_policy(dave, in_bar="now", grace_s="7"), headers=ASKED).content.decode()
    assert 'id="bar-past"' in now
    answer = dave.post(AT, typed_policy(dave, in_bar="past", grace_s="7"), headers=ASKED).content.decode()
    assert "Too little is recorded yet." in answer
    row = RecordedObservation.objects.latest("at")
    for minutes in range(1, past.LEAST_LOOKS + 1):
        row.pk, row.at = None, clock.now() - timedelta(minutes=5 * minutes)
        row.save(force_insert=True)
    answer = dave.post(AT, typed_policy(dave, in_bar="past", grace_s="7"), headers=ASKED).content.decode()
    assert "stops as things are" in words_of(answer)
    RecordedObservation.objects.update(jobs=100_000)
    now = dave.post(AT, typed_policy(dave, in_bar="now", grace_s="7"), headers=ASKED).content.decode()
    assert 'id="bar-past"' not in now


def test_who_may_not_change_the_policy_asks_nothing(people: Sim) -> None:
    vera = browser("vera")
    assert vera.post(AT, {"in_bar": "now"}, headers=ASKED).status_code in (403, 404)

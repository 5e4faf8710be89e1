"""What a column keeps: our sentences as data, and everybody else's words as they are."""

import pytest
from django.db import connection
from django.utils import translation

from console.core.translate import resaid
from scheduler.model.sentence import Sentence, say, to_json
from tests.factories import make_cluster, make_cycle, make_plan

pytestmark = pytest.mark.django_db
WHO = say("job", job="102", user="bob", level="Ausbildung; groß")


def kept(words: str) -> str:
    plan = make_plan(make_cycle(make_cluster()), explain=words)
    plan.refresh_from_db()
    return plan.explain


def test_a_sentence_comes_back_and_is_said_in_chinese() -> None:
    found = kept(say("blocked", who=WHO, why=say("limit.hour", partition="x", used=5, most=5)))
    assert isinstance(found, Sentence)
    assert found == "102 (bob, Ausbildung; groß) may not start yet: x has had 5 of 5 stops in this hour."
    with translation.override("zh-hans"):
        said = resaid(found)
    assert said is not None and "Ausbildung; groß" in said and "stops" not in said


@pytest.mark.parametrize(
    "words",
    [
        "",
        "It waits.",
        '{"code": "job.lost", "params": {}}',
        '{"code":"x"',
        '{"text": "x"}',
        "{",
        str(to_json(WHO)),
    ],
)
def test_other_words_stay_words_whatever_they_look_like(words: str) -> None:
    found = kept(words)
    assert found == words
    assert not isinstance(found, Sentence)


@pytest.mark.parametrize("broken", ['{"code": "nothing"', '{"code": "nothing", "params": 3}', '{"code": 5}'])
def test_a_row_that_was_spoilt_by_hand_is_shown_as_it_is(broken: str) -> None:
    plan = make_plan(make_cycle(make_cluster()), explain="x")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE steering_plan SET explain = %s WHERE id = %s", [broken, plan.pk])
    plan.refresh_from_db()
    assert plan.explain == broken

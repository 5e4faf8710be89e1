"""Sentences that stand in what a row keeps: the words are hashed, and the data beside them reads in every language."""

import pytest
from django.db import transaction
from django.utils import translation

from console.audit.models import AuditEntry
from console.audit.registry import known
from console.audit.selectors import entry_differences, hash_fits
from console.audit.services import Subject, record
from console.core.sentence_field import with_sentences, without_sentences
from console.core.templatetags.words import json_words
from scheduler.model.sentence import Sentence, say

pytestmark = pytest.mark.django_db
ORIGIN = say("origin.score", code="alpha", sum="40 ÷ 1 × 3 = 120", level="Ausbildung; groß")
BELOW = say("origin.below", code="alpha", sum="1 ÷ 1 × 1 = 1")
DENIED = say("origin.denied", words="p0", user="ann", origin=BELOW)


def written(after: object) -> AuditEntry:
    with transaction.atomic():
        subject = Subject("partition", "1", "x", "c", "x")
        made = record(actor="ann", action=ACTION, subject=subject, after=after, reason="so")
    return AuditEntry.objects.get(pk=made.pk)


ACTION = "policy.draft_saved"


def test_a_document_keeps_words_and_is_read_as_data() -> None:
    assert known(ACTION).name == ACTION
    row = written({"victims": [{"job": "7", "user_origin": DENIED}], "note": "no sentence"})
    assert row.after == {"victims": [{"job": "7", "user_origin": str(DENIED)}], "note": "no sentence"}
    assert type(row.after["victims"][0]["user_origin"]) is str
    assert hash_fits(row)
    with translation.override("zh-hans"):
        read = {each.path: json_words(each.after, each.path) for each in entry_differences(row)}
        assert read["note"] == "no sentence"
        assert "ann 不得使用关键字 p0" in read["victims"]
        assert "低于所有级别" in read["victims"]
    assert "below every level" in json_words(
        next(each.after for each in entry_differences(row) if each.path == "victims"), "victims"
    )


def test_what_was_said_of_a_document_belongs_to_the_hash() -> None:
    row = written({"user_origin": BELOW})
    row.said = {"after": [[["user_origin"], {"code": "origin.nothing", "params": {}, "en": "x"}]]}
    assert not hash_fits(row)


def test_sentences_stand_anywhere_in_kept_json() -> None:
    document = {"a": [{"origin": ORIGIN, "n": 3}], "b": {"code": "x"}, "c": None}
    kept = without_sentences(document)
    assert kept["a"][0]["origin"]["code"] == "origin.score"
    read = with_sentences(kept)
    assert read == document
    assert isinstance(read["a"][0]["origin"], Sentence)


def test_a_level_with_a_semicolon_reads_right_in_chinese() -> None:
    with translation.override("zh-hans"):
        said = json_words(DENIED)
        assert said == "ann 不得使用关键字 p0；alpha：1 ÷ 1 × 1 = 1 低于所有级别"
        assert "Ausbildung; groß" in json_words(ORIGIN)

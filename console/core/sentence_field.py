"""A column of text that keeps sentences with their codes and parameters (`scheduler.model.sentence`)."""

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.db import models

from scheduler.model.sentence import LONGEST, Sentence, from_json, to_json

_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False)
_CODED, _PLAIN = '{"code":', '{"text":'
_PARAMS = '"params"'
"""Stands in the JSON of every sentence (`to_json`)."""


if TYPE_CHECKING:
    _Text = models.TextField[str, str]
else:
    _Text = models.TextField


class SentenceField(_Text):
    """Holds a `Sentence`, or words that are nobody's sentence: rows of before, and what people and Slurm have said.

    A sentence is kept as JSON with its English beside it. Words that look like that are kept as `{"text": …}`, so that
    nobody can write a sentence of ours.
    """

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        """The sentence, or the words."""
        return value if value is None else read_sentence(value)

    def get_prep_value(self, value: Any) -> Any:
        """As it is kept."""
        value = value if isinstance(value, Sentence) else super().get_prep_value(value)
        return written_sentence(value) if isinstance(value, str) else value


def read_sentence(kept: str) -> str:
    """What is kept in a column of sentences, as a sentence or as the words that it is."""
    return _read(kept) if kept.startswith((_CODED, _PLAIN)) else kept


def written_sentence(said: str) -> str:
    """A sentence or words as a column of sentences keeps them."""
    if isinstance(said, Sentence):
        return _ENCODER.encode(to_json(said))
    if said.startswith((_CODED, _PLAIN)):
        return json.dumps({"text": said}, ensure_ascii=False)
    return said


class SentencesField(models.JSONField):
    """JSON in which sentences stand anywhere, each as in `to_json`. Other texts are kept as they are."""

    def from_db_value(self, value: Any, *rest: Any) -> Any:
        """With the sentences. One that this release does not know is its English."""
        document = super().from_db_value(value, *rest)
        # Where the word does not stand in the text there is no sentence to be looked for; most have none.
        return document if isinstance(value, str) and _PARAMS not in value else with_sentences(document)

    def get_prep_value(self, value: Any) -> Any:
        """As they are kept."""
        return super().get_prep_value(without_sentences(value))


def with_sentences(document: Any) -> Any:
    """JSON with a sentence wherever one was kept."""
    match document:
        case {"code": str(), "params": dict(), "en": str()} if len(document) == len(("code", "params", "en")):
            return from_json(document)
        case dict():
            return {key: _within(value) for key, value in document.items()}
        case list():
            return [_within(value) for value in document]
        case _:
            return document


def _within(value: Any) -> Any:
    """Most of what a document has are numbers and names: these are not looked into."""
    return with_sentences(value) if isinstance(value, dict | list) else value


def without_sentences(value: Any) -> Any:
    """The same as plain JSON, for keeping."""
    match value:
        case Sentence():
            return to_json(value)
        case dict():
            return {key: without_sentences(each) for key, each in value.items()}
        case list() | tuple():
            return [without_sentences(each) for each in value]
        case _:
            return value


@lru_cache(maxsize=4096)
def _read(value: str) -> str:
    """Never raises: a row that somebody has cut or changed by hand is shown as it is.

    Nobody changes a sentence, so what is read again in the next cycle, or on the next page, is the same one.
    """
    try:
        document = json.loads(value) if len(value) <= LONGEST else None
    except ValueError:
        return value
    if not isinstance(document, dict):
        return value
    text = document.get("text")
    return text if isinstance(text, str) else from_json(document) or value

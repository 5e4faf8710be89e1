"""The sentences of ours that stand in a row's documents: kept beside them as data, each with its place.

The documents themselves keep the English, which is what people and programs have always read there.
"""

from collections.abc import Iterator
from typing import Any

from console.core.l10n_format import is_english
from scheduler.model.sentence import Sentence, from_json

Place = list[str | int]
"""Keys and numbers, from the outside in: `["victims", 0, "user_origin"]`."""


def sentences_in(document: Any, *place: str | int) -> Iterator[tuple[Place, Sentence]]:
    """Each sentence of a document that is about to be kept, with its place."""
    match document:
        case Sentence():
            yield list(place), document
        case dict():
            for key, value in document.items():
                yield from sentences_in(value, *place, key)
        case list() | tuple():
            for number, value in enumerate(document):
                yield from sentences_in(value, *place, number)


def with_said(document: Any, said: Any) -> Any:
    """A kept document with its sentences as such, for readers of other languages; those of English read the words
    that were hashed with the row."""
    return document if is_english() else with_data(document, said)


def with_data(document: Any, said: Any) -> Any:
    """The same for all readers."""
    places = {tuple(place): from_json(sentence) for place, sentence in said or ()}
    return _put(document, places, ()) if places else document


def _put(value: Any, places: dict[tuple[Any, ...], str], at: tuple[Any, ...]) -> Any:
    match value:
        case dict():
            return {key: _put(each, places, (*at, key)) for key, each in value.items()}
        case list():
            return [_put(each, places, (*at, number)) for number, each in enumerate(value)]
        case _:
            said = places.get(at)
            return said if isinstance(said, Sentence) and isinstance(value, str) else value

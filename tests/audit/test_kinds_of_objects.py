"""What kind of thing a row is about, and of which kind an incident is, is said in words and in both languages."""

import ast
from collections.abc import Iterator

from django.utils import translation

from console.audit.templatetags.audit import KINDS, kind_of_object
from console.core.templatetags.words import json_words, key_words
from console.steering.models.plans import IncidentKind
from tests.test_project.repository import own_python


def types_of_subjects() -> Iterator[str]:
    """Each that is written in the code where a row is made."""
    for path in own_python("console"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Subject":
                given = [each.value for each in node.keywords if each.arg == "type"] or node.args[:1]
                yield from (str(each.value) for each in given if isinstance(each, ast.Constant))


def test_every_kind_of_object_has_words() -> None:
    found = set(types_of_subjects())
    assert {"incident", "job", "partition"} <= found
    assert found - KINDS.keys() == set()


def test_a_row_of_an_incident_reads_in_both_languages() -> None:
    """`kind` was called a step, and its value stood there as programs have it."""
    assert f"{key_words('kind')} {json_words('at_once', 'kind')}" == f"kind {IncidentKind.AT_ONCE.label}"
    with translation.override("zh-hans"):
        said = [
            kind_of_object("incident"),
            key_words("words"),
            *(json_words(each.value, "kind") for each in IncidentKind),
        ]
    assert not [each for each in said if each.isascii()], said

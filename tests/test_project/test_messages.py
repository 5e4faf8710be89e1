"""The catalogues are right, without gettext's programs. What is not translated is shown in English; `make messages`
lists it."""

import gettext
import io
import re
from pathlib import Path

import pytest
from babel.messages import Catalog, Message
from babel.messages.pofile import read_po

from console.settings.languages import LANGUAGES
from deploy.bin import messages
from tests.test_project.repository import ROOT

PLACES = re.compile(r"%\(\w+\)[a-z]|%[a-z%]|\{\w*\}|<[^>]*>")
CATALOGUES = sorted((ROOT / "locale").glob("*/LC_MESSAGES/django.po"))
MEND = 'run `make messages`, and translate what it lists (docs/development.md, "Add a sentence")'


def catalogue_of(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=path.parent.parent.name)


def forms(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else list(message.string or [""])


def test_every_language_but_english_has_a_catalogue() -> None:
    named = {path.parent.parent.name.replace("_", "-").lower() for path in CATALOGUES}
    assert named == {code for code, _name in LANGUAGES} - {"en"}


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parent.parent.name)
def test_what_is_translated_has_all_that_the_message_holds(path: Path) -> None:
    for message in catalogue_of(path):
        if not message.id or not any(forms(message)):
            continue
        assert not message.fuzzy, message.id
        original = message.id if isinstance(message.id, str) else message.id[-1]
        for said in forms(message):
            assert said.strip(), f"{message.id}: {MEND}"
            assert sorted(PLACES.findall(said)) == sorted(PLACES.findall(original)), (message.id, said)
            assert said[0].isspace() <= original[0].isspace(), (message.id, said)
            assert ("\n" in said) == ("\n" in original), message.id


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parent.parent.name)
def test_what_django_reads_is_what_people_edit(path: Path) -> None:
    assert path.with_suffix(".mo").read_bytes() == messages.as_mo(catalogue_of(path)), MEND
    with path.with_suffix(".mo").open("rb") as file:
        assert gettext.GNUTranslations(file).gettext("Partition") == "分区"


def test_nothing_that_is_marked_is_overlooked() -> None:
    """What hides a message from the reader: a mark within an f-string, or around one."""
    for path in sorted((ROOT / "console").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\b(?:_|n?gettext(?:_lazy|_noop)?)\(\s*f[\"']", text), path
        assert not re.search(r"f\"[^\"\n]*\{(?:_|n?gettext)\('", text), path


def test_python_and_templates_are_read() -> None:
    code = b'a = _("one")\nb = ngettext("%(n)s job", "%(n)s jobs", n)\nc = pgettext("x", "two")\n'
    assert messages.in_python(code) == [("one", None), (("%(n)s job", "%(n)s jobs"), None), ("two", "x")]
    page = (
        "<p title=\"{% translate 'three' %}\">{% blocktranslate count n=x trimmed %}{{ n }} day{% plural %}{{ n }} days"
        '{% endblocktranslate %} {% translate "Held" context "resources" %} {{ x|default:_("four") }}</p>'
    )
    assert messages.in_template(page) == [
        ("three", None), (("%(n)s day", "%(n)s days"), None), ("Held", "resources"), ("four", None),
    ]  # fmt: skip


def test_a_catalogue_is_brought_in_step_and_keeps_what_is_translated(tmp_path: Path) -> None:
    path = tmp_path / "zh_Hans" / "LC_MESSAGES" / "django.po"
    path.parent.mkdir(parents=True)
    path.write_text('msgid ""\nmsgstr ""\n\nmsgid "Gone"\nmsgstr "没了"\n\nmsgid "Kept"\nmsgstr "留下"\n')
    marked: dict[messages.Found, list[str]] = {
        ("Kept", None): ["a.py"],
        (("%(n)s a", "%(n)s as"), None): ["a.py"],
    }
    new = messages.in_step(path, marked)
    assert [message.id for message in messages.untranslated(new)] == [("%(n)s a", "%(n)s as")]
    filling = tmp_path / "new.jsonl"
    filling.write_text('{"id": "%(n)s a", "plural": "%(n)s as", "text": "%(n)s 个"}\n')
    messages.fill(new, filling)
    assert messages.untranslated(new) == []
    again = gettext.GNUTranslations(io.BytesIO(messages.as_mo(new)))
    assert (again.gettext("Kept"), again.ngettext("%(n)s a", "%(n)s as", 3)) == ("留下", "%(n)s 个")
    assert again.gettext("Gone") == "Gone"

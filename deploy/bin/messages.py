"""The catalogues of messages: `make messages` reads every marked text, brings each locale/*.po in step with what is
there, and compiles the .mo. Pure Python (Babel and Django's own reading of templates): no gettext is needed.

--check writes nothing and ends with status 1 when something would change or is not translated.
--list prints what is not translated, one JSON object a line: {"id": …} or {"id": …, "plural": …}.
--fill FILE takes translations from such lines, with "text" (a text, or a list for plurals), and writes them.
"""

import argparse
import importlib
import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from babel.messages import Catalog, Message
from babel.messages.extract import extract_python
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parents[2]
LOCALES = ROOT / "locale"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
WITH_CONTEXT = {"pgettext", "pgettext_lazy", "npgettext"}
PLURALS = {"ngettext", "ngettext_lazy", "npgettext"}
KEYWORDS = ["_", "gettext", "gettext_lazy", "gettext_noop", *sorted(WITH_CONTEXT | PLURALS)]
SENTENCES = (
    "scheduler.model.sentences",
    "console.audit.sentences",
    "console.core.sentences",
    "console.health.sentences",
    "console.health.slurm_sentences",
    "console.notices.sentences",
    "console.power.sentences",
    "console.setup.sentences",
    "console.steering.sentences",
)
"""Modules with sentences by their codes; a further one of an app is added here, and by the app to the registry."""
TABLES = ("scheduler.model.reasons", "scheduler.model.policy", "console.accounts.permissions", *SENTENCES)
Found = tuple[str | tuple[str, str], str | None]
"""A message, singular and plural if it counts, and its context."""


def main() -> None:
    """The command."""
    sys.path.insert(0, str(ROOT))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true")
    choice.add_argument("--list", action="store_true")
    choice.add_argument("--fill", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    marked = collect()
    status = 0
    for path in sorted(LOCALES.glob("*/LC_MESSAGES/django.po")):
        catalogue = in_step(path, marked)
        if arguments.fill:
            fill(catalogue, arguments.fill)
        missing = untranslated(catalogue)
        if arguments.list:
            print(*(json.dumps(line(message), ensure_ascii=False) for message in missing), sep="\n")
        elif arguments.check:
            stale = path.read_bytes() != as_po(catalogue) or path.with_suffix(".mo").read_bytes() != as_mo(
                catalogue
            )
            status |= stale or bool(missing)
            print(
                f"{path.relative_to(ROOT)}: {len(missing)} not translated{', out of step' if stale else ''}"
            )
        else:
            path.write_bytes(as_po(catalogue))
            path.with_suffix(".mo").write_bytes(as_mo(catalogue))
            print(f"{path.relative_to(ROOT)}: {len(catalogue)} messages, {len(missing)} not translated")
    raise SystemExit(status)


# --- What is marked -------------------------------------------------------------------------------------------------


def collect() -> dict[Found, list[str]]:
    """Every marked message with the files that have it, and the sentences of the tables."""
    found: dict[Found, list[str]] = {}
    for name, messages in _sources():
        for message in messages:
            places = found.setdefault(message, [])
            if name not in places:
                places.append(name)
    return found


def _sources() -> Iterator[tuple[str, Iterable[Found]]]:
    for path in sorted((ROOT / "console").rglob("*.py")):
        if "migrations" not in path.parts:
            yield _name(path), in_python(path.read_bytes())
    folders = (ROOT / "templates", *sorted((ROOT / "console").glob("*/templates")))
    for path in sorted(path for folder in folders for path in folder.rglob("*.html")):
        yield _name(path), in_template(path.read_text(encoding="utf-8"))
    yield from in_tables()


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def in_python(source: bytes) -> list[Found]:
    """The messages of a Python module."""
    found: list[Found] = []
    for _line, function, arguments, _comments in extract_python(
        io.BytesIO(source), dict.fromkeys(KEYWORDS), [], {}
    ):
        said: Any = arguments  # a text, or a tuple of texts: more than Babel's own types say
        given = list(said) if isinstance(said, tuple) else [said]
        with_context = function in WITH_CONTEXT
        context = given.pop(0) if with_context else None
        texts = [text for text in given if text]
        if texts:  # else a variable's name: what it holds is marked where it is made
            plural = function in PLURALS
            found.append(((texts[0], texts[1]) if plural else texts[0], context))
    return found


def in_template(source: str) -> list[Found]:
    """The messages of a template, which Django turns into something like Python for the purpose."""
    from django.utils.translation.template import templatize

    lines = templatize(source).splitlines()
    return in_python("\n".join(line.lstrip() for line in lines).encode())


def in_tables() -> Iterator[tuple[str, Iterable[Found]]]:
    """Sentences in tables of modules that know no gettext: pages translate them when they show them."""
    for name in TABLES:
        sentences: Mapping[str, str] = importlib.import_module(name).SENTENCES
        yield name.replace(".", "/") + ".py", [(sentence, None) for sentence in sentences.values()]


# --- Catalogues -----------------------------------------------------------------------------------------------------


def in_step(path: Path, marked: Mapping[Found, list[str]]) -> Catalog:
    """The catalogue with exactly the marked messages, and the translations that it has already."""
    with path.open("rb") as file:
        old = read_po(file, locale=path.parent.parent.name)
    new = Catalog(
        locale=old.locale,
        project="Giveway",
        version="1",
        copyright_holder="Giveway",
        msgid_bugs_address="docs/languages.md",
        # The same texts make the same file: no moment of making stands in it.
        creation_date=EPOCH,
        revision_date=EPOCH,
        last_translator="Giveway",
        language_team=str(old.locale),
        fuzzy=False,
    )
    new.header_comment = "# The texts of Giveway in another language: docs/languages.md."
    for message in sorted(marked, key=_order):
        text, context = message
        known = old.get(text, context)
        string = known.string if known and not known.fuzzy else ""
        new.add(text, string, [(name, 0) for name in sorted(marked[message])], context=context)
    return new


def _order(message: Found) -> tuple[str, str]:
    text, context = message
    return (text if isinstance(text, str) else text[0]), context or ""


def as_po(catalogue: Catalog) -> bytes:
    """The file that people edit."""
    file = io.BytesIO()
    write_po(file, catalogue, width=110, include_lineno=False)
    return file.getvalue()


def as_mo(catalogue: Catalog) -> bytes:
    """The file that Django reads."""
    file = io.BytesIO()
    write_mo(file, catalogue)
    return file.getvalue()


def untranslated(catalogue: Catalog) -> list[Message]:
    """The messages without a text, or with fewer forms than the language has."""
    return [message for message in catalogue if message.id and not _whole(message)]


def _whole(message: Message) -> bool:
    return all(message.string) if isinstance(message.string, tuple | list) else bool(message.string)


def line(message: Message) -> dict[str, Any]:
    """A message as `--list` prints it."""
    told = dict(
        zip(("id", "plural"), [message.id] if isinstance(message.id, str) else message.id, strict=False)
    )
    return {**told, "context": message.context} if message.context else told


def fill(catalogue: Catalog, path: Path) -> None:
    """Take translations from a file of JSON lines."""
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        entry = json.loads(text)
        message = catalogue.get(entry["id"], entry.get("context"))
        if message is None:
            print(f"{path}:{number}: there is no such message: {entry['id']}")
            continue
        plural = not isinstance(message.id, str)
        given = entry["text"]
        message.string = tuple([given] if isinstance(given, str) else given) if plural else given


if __name__ == "__main__":
    main()

"""`python deploy/bin/sentences.py`: prints every sentence by its code, in both languages, as a page in Markdown."""

import importlib
import sys
from pathlib import Path

from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
HEAD = """# All sentences

What Giveway says of its decisions, by code. `%(name)s` is the place of a parameter: a name, a number, a duration,
amounts, a list, or another sentence. docs/languages.md tells how a sentence is added and translated.

| code | English | 中文 |
|---|---|---|
"""


def page() -> str:
    """The page."""
    sys.path.insert(0, str(ROOT))
    from deploy.bin import messages

    lines = {
        code: line
        for name in messages.SENTENCES
        for code, line in importlib.import_module(name).SENTENCES.items()
    }
    with CATALOGUE.open("rb") as file:
        catalogue = read_po(file, locale="zh_Hans")
    rows = []
    for code, line in sorted(lines.items()):
        message = catalogue.get(line)
        chinese = message.string if message is not None and isinstance(message.string, str) else ""
        rows.append(f"| `{code}` | {_cell(line)} | {_cell(chinese)} |")
    return HEAD + "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    print(page(), end="")

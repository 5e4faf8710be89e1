"""`python deploy/bin/sentences.py`: writes docs/sentences.md, every sentence by its code, in both languages.

--check writes nothing and ends with status 1 when the page is out of step.
"""

import argparse
import sys
from pathlib import Path

from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "sentences.md"
CATALOGUE = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
HEAD = """# All sentences

What Giveway says of its decisions, by code. `%(name)s` is the place of a parameter: a name, a number, a duration,
amounts, a list, or another sentence. `deploy/bin/sentences.py` makes this page; [languages](languages.md) tells how
a sentence is added and translated.

| code | English | 中文 |
|---|---|---|
"""


def page() -> str:
    """The page as it should be."""
    sys.path.insert(0, str(ROOT))
    from scheduler.model.sentence import lines

    with CATALOGUE.open("rb") as file:
        catalogue = read_po(file, locale="zh_Hans")
    rows = []
    for code, line in sorted(lines().items()):
        message = catalogue.get(line)
        chinese = message.string if message is not None and isinstance(message.string, str) else ""
        rows.append(f"| `{code}` | {_cell(line)} | {_cell(chinese)} |")
    return HEAD + "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    made = page()
    if not parser.parse_args().check:
        PAGE.write_text(made, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != made:
        raise SystemExit("docs/sentences.md is out of step: run deploy/bin/sentences.py")


if __name__ == "__main__":
    main()

"""docs/sentences.md is in step, and no sentence is without its Chinese."""

from deploy.bin import sentences


def test_the_page_is_what_the_command_makes() -> None:
    assert sentences.PAGE.read_text(encoding="utf-8") == sentences.page(), "run deploy/bin/sentences.py"


def test_every_code_has_both_languages() -> None:
    rows = [line.split(" | ") for line in sentences.page().splitlines() if line.startswith("| `")]
    assert len(rows) > 80
    assert [row[0] for row in rows if len(row) != 3 or not row[2].removesuffix(" |").strip()] == []

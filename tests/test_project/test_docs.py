"""The documents lead somewhere: every link and every picture is there, and the pictures of the tours are small."""

import re
from importlib.util import find_spec
from pathlib import Path

from django.core.management import get_commands

from tests.test_project.repository import ROOT, own_files

LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(
    r"`([\w.-]+(?:/[\w.-]+)*\.(?:py|md|html|js|css|toml|sh|lua|in|txt|po|json)"
    r"|(?:scheduler|console|tests|bench|templates|deploy|static|docs|examples|locale)/[\w/.-]+)(?::[^`]*)?`"
)
"""A file or folder of ours, in code: with its ending, or from a folder at the top."""
NOT_OURS = {"easy.json", "make-room.json", "giveway_submit.lua"}
"""Files that people write, or copy to where Slurm reads them."""
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TOURS = ROOT / "docs" / "tours"
LARGEST = 150_000
LARGEST_TOGETHER = 3_000_000


def targets(document: Path) -> list[tuple[Path, str]]:
    """What the document links to inside the repository: file and heading. Code is no link."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", document.read_text(), flags=re.DOTALL)
    found = [link.partition("#") for link in LINK.findall(text) if "://" not in link]
    return [((document.parent / path).resolve() if path else document, heading) for path, _, heading in found]


def headings(document: Path) -> set[str]:
    lines = re.findall(r"^#+ (.+)$", document.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def test_every_link_leads_to_something() -> None:
    lost = [
        f"{document.relative_to(ROOT)}: {path.name}#{heading}"
        for document in DOCUMENTS
        for path, heading in targets(document)
        if not path.exists() or (heading and path.suffix == ".md" and heading not in headings(path))
    ]
    assert lost == []


def test_each_of_the_five_people_has_a_tour_that_the_readme_leads_to() -> None:
    tours = set(TOURS.glob("*.md"))
    assert len(tours - {TOURS / "README.md"}) == 5
    assert {path for path, _ in targets(TOURS / "README.md")} == tours - {TOURS / "README.md"}
    assert TOURS / "README.md" in {path for path, _ in targets(ROOT / "README.md")}


def test_every_document_is_led_to() -> None:
    reached, new = set[Path](), {ROOT / "README.md"}
    while new:
        reached |= new
        new = {path for at in new if at.suffix == ".md" for path, _ in targets(at) if path.exists()} - reached
    assert set(DOCUMENTS) - reached == set()


def test_the_pictures_of_the_tours_are_used_and_small() -> None:
    used = {path for document in DOCUMENTS for path, _ in targets(document)}
    pictures = sorted((TOURS / "img").iterdir())
    assert {path.name for path in pictures if path not in used} == set()
    sizes = [path.stat().st_size for path in pictures]
    assert max(sizes) <= LARGEST
    assert sum(sizes) <= LARGEST_TOGETHER


def test_every_file_that_a_document_names_is_there() -> None:
    """By its whole path or by the end of it. A recipe that leads to a file which has moved is worse than none."""
    there = {
        "/".join(parts[begin:end])
        for parts in (path.relative_to(ROOT).parts for path in own_files())
        for end in range(1, len(parts) + 1)
        for begin in range(end)
    }
    named = {
        f"{document.relative_to(ROOT)}: {path}": path.rstrip("./")
        for document in DOCUMENTS
        for path in PATH.findall(re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL))
    }
    assert len(named) > 400
    assert [
        where for where, path in named.items() if path not in there | NOT_OURS and not (ROOT / path).exists()
    ] == []


def test_every_command_that_a_document_names_is_there() -> None:
    text = "\n".join(document.read_text() for document in DOCUMENTS)
    pieces = re.findall(r"^ *```\w*\n(.*?)^ *```|`([^`\n]+)`", text, re.DOTALL | re.MULTILINE)
    code = "\n".join(block or piece for block, piece in pieces)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    asked_of_make = set(re.findall(r"^ *(?:sudo )?make ([a-z-]+)", code, re.MULTILINE))
    assert len(asked_of_make) > 10
    assert asked_of_make - targets == set()
    asked_of_manage = set(re.findall(r"manage\.py ([a-z][a-z-]*)", code))
    assert len(asked_of_manage) > 10
    assert asked_of_manage - set(get_commands()) == set()
    modules = set(re.findall(r"python -m ([\w.]+)", code))
    assert len(modules) > 5
    assert [module for module in modules if find_spec(module) is None] == []

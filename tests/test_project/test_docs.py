"""The documents lead somewhere: every link and every picture is there, and the pictures of the tours are small."""

import re
from pathlib import Path

from tests.test_project.repository import ROOT

LINK = re.compile(r"\]\(([^)\s]+)\)")
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


def test_every_file_that_the_guide_for_newcomers_names_is_there() -> None:
    """A recipe that leads to a file which has moved is worse than none."""
    guide = (ROOT / "docs" / "development.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`((?:scheduler|console|tests|bench|templates)/[\w/.]+)(?::[^`]*)?`", guide))
    assert len(named) > 30
    assert sorted(path for path in named if "…" not in path and not (ROOT / path.rstrip(".")).exists()) == []

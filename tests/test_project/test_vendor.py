"""What others wrote for the browser is exactly what was fetched, licensed, and reaches out to nobody."""

import hashlib
import json
import re
from xml.etree import ElementTree

from tests.test_project.repository import ROOT

VENDOR = ROOT / "static" / "vendor"
MANIFEST = json.loads((VENDOR / "manifest.json").read_text())
CSS = ROOT / "static" / "css"
HOOKS = {"group", "lanes-all", "needs-nothing", "tasks-asked", "time", "what-if-answer"}
"""Classes by which scripts, tests or other parts of a page find something; nothing is drawn by them."""
SVG = "{http://www.w3.org/2000/svg}"


def test_every_vendored_file_is_the_one_that_was_fetched() -> None:
    files = {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }
    assert files == MANIFEST["files"]


def test_the_versions_are_the_ones_that_are_asked_for() -> None:
    asked = json.loads((ROOT / "deploy" / "frontend" / "package.json").read_text())
    wanted, tools = asked["dependencies"], asked["devDependencies"]
    locked = json.loads((ROOT / "deploy" / "frontend" / "package-lock.json").read_text())["packages"]
    assert MANIFEST["packages"] == wanted
    pinned = wanted | tools
    assert {name: locked[f"node_modules/{name}"]["version"] for name in pinned} == pinned
    assert wanted["htmx.org"] == "2.0.11"
    assert all(package.get("integrity") for path, package in locked.items() if path)


def test_every_folder_has_its_licence() -> None:
    folders = [path for path in VENDOR.iterdir() if path.is_dir()]
    assert len(folders) >= 3
    for folder in folders:
        assert re.search(r"Permission|permission", (folder / "LICENSE").read_text()), folder


def test_the_style_sheet_needs_nothing_but_its_own_files() -> None:
    """So that `default-src 'self'` is enough and collectstatic finds every reference."""
    css = (VENDOR / "tabler" / "tabler.min.css").read_text()
    references = set(re.findall(r"url\(([^)]*)\)", css))
    assert references
    for reference in references:
        assert ElementTree.parse(VENDOR / "tabler" / reference.strip('"')).getroot().tag == f"{SVG}svg"
    assert "@import" not in css
    assert "sourceMappingURL" not in css


def classes_of(css: str) -> set[str]:
    return set(re.findall(r"\.([A-Za-z_-][\w-]*)", css))


def test_every_class_of_a_page_is_in_a_style_sheet() -> None:
    """One of Tabler's is there only if deploy/frontend/classes.txt names it."""
    known = classes_of((VENDOR / "tabler" / "tabler.min.css").read_text())
    known |= classes_of("".join(path.read_text() for path in CSS.glob("*.css")))
    used = set()
    for path in (ROOT / "templates").rglob("*.html"):
        page = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "…", path.read_text(), flags=re.DOTALL)
        used |= {
            name for said in re.findall(r'class="([^"]*)"', page) for name in said.split() if "…" not in name
        }
    assert len(used) > 150
    assert used - known - HOOKS == set()


def test_of_the_style_sheet_only_what_pages_use_is_kept() -> None:
    css = (VENDOR / "tabler" / "tabler.min.css").read_text()
    lines = (ROOT / "deploy" / "frontend" / "classes.txt").read_text().splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    assert wanted == sorted(wanted)
    rules = re.findall(r"(?<=[{};])([^{};@]+)\{", re.sub(r":not\([^()]*\)|\"[^\"]*\"", "", css))
    assert len(rules) > 200 and classes_of(",".join(rules)) == set(wanted)


def test_every_variable_that_is_read_has_a_value() -> None:
    """Of Tabler's only those are kept that were read when `make vendor` ran."""
    css = "".join(path.read_text() for path in (VENDOR / "tabler" / "tabler.min.css", *CSS.glob("*.css")))
    known = set(re.findall(r"(--[\w-]+)\s*:", css))
    read = set(
        re.findall(r"var\(\s*(--[\w-]+)\s*\)", "".join(path.read_text() for path in CSS.glob("*.css")))
    )
    assert len(read) > 20
    assert read - known == set(), "a variable of Tabler's that was not read before? make vendor"


def test_the_sprite_has_the_icons_of_the_list() -> None:
    lines = (ROOT / "deploy" / "frontend" / "icons.txt").read_text().splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    symbols = ElementTree.parse(VENDOR / "icons" / "sprite.svg").getroot()
    assert [symbol.get("id") for symbol in symbols] == sorted(wanted)
    for symbol in symbols:
        assert symbol.tag == f"{SVG}symbol"
        assert len(symbol), f"{symbol.get('id')} is empty"

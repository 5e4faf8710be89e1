"""What others wrote for the browser is exactly what was fetched, licensed, and reaches out to nobody."""

import hashlib
import json
import re
from xml.etree import ElementTree

from tests.test_project.repository import ROOT

VENDOR = ROOT / "static" / "vendor"
MANIFEST = json.loads((VENDOR / "manifest.json").read_text())
SVG = "{http://www.w3.org/2000/svg}"


def test_every_vendored_file_is_the_one_that_was_fetched() -> None:
    files = {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }
    assert files == MANIFEST["files"]


def test_the_versions_are_the_ones_that_are_asked_for() -> None:
    wanted = json.loads((ROOT / "deploy" / "frontend" / "package.json").read_text())["dependencies"]
    locked = json.loads((ROOT / "deploy" / "frontend" / "package-lock.json").read_text())["packages"]
    assert MANIFEST["packages"] == wanted
    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted
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


def test_the_sprite_has_the_icons_of_the_list() -> None:
    lines = (ROOT / "deploy" / "frontend" / "icons.txt").read_text().splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    symbols = ElementTree.parse(VENDOR / "icons" / "sprite.svg").getroot()
    assert [symbol.get("id") for symbol in symbols] == sorted(wanted)
    for symbol in symbols:
        assert symbol.tag == f"{SVG}symbol"
        assert len(symbol), f"{symbol.get('id')} is empty"

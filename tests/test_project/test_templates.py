"""Pages load nothing from elsewhere, carry no inline script or style (the CSP refuses it), and are short."""

import re
from pathlib import Path
from xml.etree import ElementTree

from tests.test_project.repository import ROOT, own_files, own_python

TEMPLATES = [
    path for path in own_files() if "templates" in path.relative_to(ROOT).parts and path.suffix == ".html"
]
OWN_ASSETS = [
    path for path in own_files() if path.is_relative_to(ROOT / "static") and path.suffix in {".css", ".js"}
]
MAX_LINES = 100
MAX_COLUMNS = 140

FORBIDDEN = {
    "loads from elsewhere": re.compile(
        r"""<(?:script|link|img|iframe|source|use)\b[^>]*(?:src|href)=["'](?:https?:)?//""", re.IGNORECASE
    ),
    "inline script": re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)", re.IGNORECASE),
    "inline style": re.compile(r"<style\b|<[a-z][^>]*\sstyle=", re.IGNORECASE),
    "inline handler": re.compile(r"<[a-z][^>]*\son[a-z]+=|\shx-on[:-]", re.IGNORECASE),
    "javascript: link": re.compile(r"""=["']\s*javascript:""", re.IGNORECASE),
    "unescaped value": re.compile(r"\|\s*safe\b|\{%\s*autoescape off"),
    "hand-made CSRF exemption": re.compile(r"csrf_exempt"),
}
SAMPLES = {
    "loads from elsewhere": '<script src="https://cdn.example/x.js">',
    "inline script": "<script>alert(1)</script>",
    "inline style": '<td class="x" style="width: 10%">',
    "inline handler": '<button type="button" onclick="go()">',
    "javascript: link": '<a href="javascript:go()">',
    "unescaped value": "{{ job.name|safe }}",
    "hand-made CSRF exemption": "csrf_exempt",
}


def faults(text: str) -> set[str]:
    return {name for name, pattern in FORBIDDEN.items() if pattern.search(text)}


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_patterns_find_what_they_are_for() -> None:
    for name, sample in SAMPLES.items():
        assert name in faults(sample)
    assert (
        faults(
            '<a href="https://slurm.schedmd.com">Slurm</a><script src="{% static \'js/live.js\' %}"></script>'
        )
        == set()
    )
    assert SAMPLES.keys() == FORBIDDEN.keys()


def test_no_page_needs_an_exception_from_the_content_security_policy() -> None:
    assert {named(path): found for path in TEMPLATES if (found := faults(path.read_text()))} == {}


def test_own_scripts_and_styles_load_nothing_from_elsewhere_and_evaluate_nothing() -> None:
    pattern = re.compile(r"https?://(?!www\.w3\.org/)|@import|\beval\(|new Function\(|\.innerHTML\s*=")
    found = {named(path): match[0] for path in OWN_ASSETS if (match := pattern.search(path.read_text()))}
    assert found == {}


def test_templates_stay_short() -> None:
    long = {
        named(path): lines for path in TEMPLATES if (lines := len(path.read_text().splitlines())) > MAX_LINES
    }
    assert long == {}


def test_no_line_of_a_template_is_long() -> None:
    long = {
        f"{named(path)}:{number}": len(line)
        for path in TEMPLATES
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > MAX_COLUMNS
    }
    assert long == {}


def test_every_tag_and_filter_is_used_in_a_template() -> None:
    pages = "\n".join(path.read_text() for path in TEMPLATES)
    named = re.compile(r"@register\.(\w+)(?:\(([^)]*)\))?\s*\ndef (\w+)")
    found = {
        (kind, re.sub(r".*name=\"(\w+)\".*", r"\1", said) if "name=" in said else function)
        for path in own_python("console")
        if "templatetags" in path.parts
        for kind, said, function in named.findall(path.read_text())
    }
    assert len(found) > 80
    unused = {
        name
        for kind, name in found
        if not re.search(rf"\|\s*{name}\b" if kind == "filter" else rf"\{{%\s*{name}\b", pages)
    }
    assert unused == set()


def test_every_icon_on_a_page_is_in_the_sprite() -> None:
    sprite = ElementTree.parse(ROOT / "static" / "vendor" / "icons" / "sprite.svg").getroot()
    there = {symbol.get("id") for symbol in sprite}
    used = {
        icon
        for path in TEMPLATES
        for icon in re.findall(r"sprite\.svg['\"]\s*%\}#([a-z0-9-]+)", path.read_text())
    }
    assert used <= there, f"add to deploy/frontend/icons.txt and run make vendor: {sorted(used - there)}"

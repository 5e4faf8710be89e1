"""Who has asked their system for less motion gets none: no script moves anything by itself, and one rule of the style
sheet stops what the others would move.
"""

import re

from tests.test_project.repository import ROOT

STATIC = ROOT / "static"
STILL = re.compile(
    r"@media \(prefers-reduced-motion: reduce\) \{ \*, ::before, ::after, ::backdrop \{"
    r" transition: none !important; animation: none !important; scroll-behavior: auto !important; \} \}"
)


def test_one_rule_stops_all_motion() -> None:
    assert STILL.search((STATIC / "css" / "frame.css").read_text())


def test_no_other_rule_is_stronger_and_no_script_animates() -> None:
    sheets = {path: path.read_text() for path in (STATIC / "css").glob("*.css")}
    for path, css in sheets.items():
        moving = re.findall(
            r"(?:transition|animation|scroll-behavior)[\w-]*:[^;}]*!important", STILL.sub("", css)
        )
        assert moving == [], path
    for path in (STATIC / "js").rglob("*.js"):
        assert not re.search(r"\.animate\(|[\"']smooth[\"']|startViewTransition", path.read_text()), path

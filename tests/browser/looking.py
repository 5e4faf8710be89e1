"""Looking at a page as everybody gets it: one load, light and wide, then dark and narrow.

`look` tells what axe-core calls serious or critical and what runs off the side.
With GIVEWAY_PICTURES=<folder> in the environment every page that is looked at is kept there as pictures.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Page

PICTURES = os.environ.get("GIVEWAY_PICTURES", "")
SCROLLS = "scrollable-region-focusable"
"""axe-core takes a region that can have the focus for one that cannot, where its form is disabled."""
GRAVE = {"serious", "critical"}
EVERY = {*GRAVE, "moderate", "minor"}
VIEWS: tuple[tuple[Any, int], ...] = (("light", 1440), ("dark", 390))
AXE = "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"
TOO_WIDE = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
    [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1
        && !e.closest('nav, .scroll, .tabs')).slice(0, 3).map(e => `${e.tagName}.${e.className}`).concat('…')"""


def faults(page: Page, impacts: set[str] = GRAVE) -> list[str]:
    """What axe-core finds grave on the page as it is now; `EVERY`: whatever it finds."""
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE_SCRIPT)
    return [
        f"{page.url} {fault['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
        for fault in page.evaluate(AXE)
        if fault["impact"] in impacts
        for node in fault["nodes"][:2]
        if not (fault["id"] == SCROLLS and 'tabindex="0"' in node["html"])
    ]


def too_wide(page: Page) -> list[str]:
    """What makes the page wider than its window."""
    return [f"{page.url} is wider than its window: {what}" for what in page.evaluate(TOO_WIDE)[:1]]


def look(page: Page, views: Iterable[tuple[Any, int]] = VIEWS) -> list[str]:
    """Everything that is wrong with the page in each of the views, without loading it again."""
    found: list[str] = []
    for scheme, width in views:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 900})
        found += [f"{scheme}, {width} px: {fault}" for fault in faults(page) + too_wide(page)]
        if PICTURES:
            name = re.sub(r"[^a-z0-9]+", "-", page.url.partition("://")[2].partition("/")[2].lower()).strip(
                "-"
            )
            page.screenshot(path=Path(PICTURES) / f"{name or 'overview'}-{width}.png", full_page=True)
    return found

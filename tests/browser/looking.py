"""Looking at a page as everybody gets it: one load, light and wide, then dark and narrow.

`look` tells what axe-core calls serious or critical and what runs off the side, and on a phone what is too small to
touch and what is read by scrolling sideways only.
With GIVEWAY_PICTURES=<folder> in the environment every page that is looked at is kept there as pictures.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as StillBusyError

PICTURES = os.environ.get("GIVEWAY_PICTURES", "")
SCROLLS = "scrollable-region-focusable"
"""axe-core takes a region that can have the focus for one that cannot, where its form is disabled."""
GRAVE = {"serious", "critical"}
EVERY = {*GRAVE, "moderate", "minor"}
VIEWS: tuple[tuple[Any, int], ...] = (("light", 1440), ("dark", 390))
NARROW = 480
AXE = "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"
TOO_WIDE = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
    [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1
        && !e.closest('nav, .scroll, .tabs')).slice(0, 3).map(e => `${e.tagName}.${e.className}`).concat('…')"""


FINGER = 43.5
"""Pixels; half a pixel for rounding."""
TOUCHED = "a, button, select, summary, textarea, input:not([type=hidden]), [role=button]"
TOO_SMALL = """([touched, finger]) => [...document.querySelectorAll(touched)].filter(e => {
    if (!e.checkVisibility({opacityProperty: true, visibilityProperty: true}) || e.closest('.skip, svg')) return false
    const box = e.getBoundingClientRect()
    if (box.width < 2 || box.height < 2) return false
    const within = e.parentElement.textContent.trim() !== e.textContent.trim()
    if (e.tagName === 'A' && getComputedStyle(e).display === 'inline' && within) return false
    const label = e.matches('[type=checkbox], [type=radio]') ? e.labels[0] : null
    return Math.max(box.height, label ? label.getBoundingClientRect().height : 0) < finger
}).slice(0, 3).map(e => `${e.parentElement.tagName}.${e.parentElement.className} > ${e.outerHTML.slice(0, 120)}`)"""
"""But for links within a sentence, and for marks of a picture, which a list or a table has, too."""
ASIDE = """() => [...document.querySelectorAll('main .scroll')].filter(e => e.scrollWidth > e.clientWidth + 1
    && e.checkVisibility() && !e.querySelector(':scope > svg[width]')).slice(0, 3)
    .map(e => `${e.scrollWidth - e.clientWidth} px aside: ${e.textContent.trim().slice(0, 80)}`)"""
"""But for plots that are drawn as large as they are."""
ZOOMED = """() => [...document.querySelectorAll('input, select, textarea')]
    .filter(e => e.checkVisibility() && !e.matches('[type=checkbox], [type=radio], [type=file]')
        && parseFloat(getComputedStyle(e).fontSize) < 16).slice(0, 3).map(e => e.outerHTML.slice(0, 120))"""
"""Fields on which a phone zooms in as soon as one writes in them: their letters are smaller than 16 pixels."""


IDLE_MS = 15_000


def at_rest(page: Page) -> None:
    """What was asked for is there. One that polls a busy console may never be idle for as long as Playwright wants."""
    try:
        page.wait_for_load_state("networkidle", timeout=IDLE_MS)
    except StillBusyError:
        expect(page.locator(".htmx-request")).to_have_count(0)


def awkward(page: Page) -> list[str]:
    """What a finger hardly finds on the page, what zooms in, and what is read by scrolling sideways only."""
    small = [
        f"{page.url} is too small to touch: {what}" for what in page.evaluate(TOO_SMALL, [TOUCHED, FINGER])
    ]
    zoomed = [f"{page.url} zooms in on {what}" for what in page.evaluate(ZOOMED)]
    return small + zoomed + [f"{page.url} {what}" for what in page.evaluate(ASIDE)]


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
    page.wait_for_load_state()  # a click has led here
    page.wait_for_selector(".after-lanes", state="detached")
    for scheme, width in views:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 900})
        wrong = faults(page) + too_wide(page) + (awkward(page) if width < NARROW else [])
        found += [f"{scheme}, {width} px: {fault}" for fault in wrong]
        if PICTURES:
            name = re.sub(r"[^a-z0-9]+", "-", page.url.partition("://")[2].partition("/")[2].lower()).strip(
                "-"
            )
            page.screenshot(path=Path(PICTURES) / f"{name or 'overview'}-{width}.png", full_page=True)
    return found

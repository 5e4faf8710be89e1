"""Pages as they look, compared with the pictures in tests/browser/snapshots: `make snapshots` takes those anew.

What a page of another look leaves in dist/snapshots: the page as it is now, and where it differs.
"""

import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import time_machine
from PIL import Image, ImageFilter
from playwright.sync_api import Browser, Page, expect

from tests.browser.comparing import difference, keep, marked
from tests.browser.conftest import enter
from tests.browser.gallery import NOW, Gallery, make_gallery
from tests.browser.looking import at_rest
from tests.test_project.repository import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
KEPT = Path(__file__).parent / "snapshots"
FOUND = ROOT / "dist" / "snapshots"
RENEW = os.environ.get("GIVEWAY_SNAPSHOTS") == "renew"
WIDE, PHONE = {"width": 1440, "height": 1000}, {"width": 390, "height": 844}
PAGES = {
    "overview": "/",
    "partition": "/partitions/x/",
    "squares": "/partitions/x/?map=grid&by=level#nodes-head",
    "policy": "/partitions/x/policy/",
    "revisions": "/partitions/x/compare/?from=1&to=2",
    "quotas": "/partitions/x/quotas/",
    "job": "/jobs/400/",
    "jobs": "/jobs/",
    "plan": "/plans/{asked}/",
    "approvals": "/approvals/",
    "my-jobs": "/my-jobs/",
    "node": "/nodes/g03/",
    "user": "/users/bob/",
    "project": "/projects/alpha/",
    "request": "/project-requests/{request}/",
    "audit": "/audit/",
}
ON_A_PHONE = ("overview", "partition", "job", "plan", "my-jobs")
IN_CHINESE = (
    "overview", "partition", "policy", "revisions", "quotas", "job", "plan", "approvals", "my-jobs", "project",
    "request", "audit",
)  # fmt: skip
CHINESE = Path("/usr/share/fonts/truetype/wqy/wqy-microhei.ttc")
LOOK = """{ const sheet = new CSSStyleSheet()
    sheet.replaceSync(`* { font-family: "DejaVu Sans", "WenQuanYi Micro Hei" !important;
            caret-color: transparent !important }
        .mono, code, pre, .sides { font-family: "DejaVu Sans Mono", "WenQuanYi Micro Hei Mono" !important }
        html:not([lang=zh-hans]) [lang=zh-hans] { display: none }`)
    document.adoptedStyleSheets.push(sheet) }"""
"""The letters are those that every Debian with Chromium has, and none that it may lack; Chinese ones are `CHINESE`."""


@pytest.fixture
def gallery(django_db_reset_sequences: None) -> Iterator[Gallery]:
    """With the server's clock standing still."""
    with time_machine.travel(NOW, tick=False):
        yield make_gallery()


@pytest.fixture
def chinese_letters() -> None:
    """Of the one font that the pictures are drawn with."""
    if not CHINESE.exists():
        say = pytest.fail if os.environ.get("GIVEWAY_REQUIRE_CHINESE") == "1" else pytest.skip
        say("the pictures in Chinese need apt-get install fonts-wqy-microhei")


def open_page(browser: Browser, gallery: Gallery, address: str, size: Any, locale: str = "en-GB") -> Page:
    """The administrator's page; the reader's clock stands still, too."""
    context = browser.new_context(
        viewport=size, color_scheme="light", reduced_motion="reduce", timezone_id="UTC", locale=locale
    )
    enter(context, address, gallery.house.people["ada"])
    page = context.new_page()
    page.clock.set_fixed_time(NOW)
    page.add_init_script(LOOK)
    return page


def picture(page: Page, address: str) -> Image.Image:
    """The page when all of it is there."""
    page.goto(address)
    if page.locator("#lanes").count():
        expect(page.locator("#lanes[data-bars]")).to_be_visible()
    at_rest(page)
    expect(page.locator(".after-lanes")).to_have_count(0)
    page.evaluate("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    return Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")


def differs(name: str, now: Image.Image) -> list[str]:
    """What to say of a page that looks otherwise than it did."""
    path = KEPT / f"{name}.png"
    if not path.exists():
        return [f"{name}: no picture is kept; `make snapshots`"]
    found = difference(Image.open(path), now)
    if not found.is_grave:
        return []
    FOUND.mkdir(parents=True, exist_ok=True)
    now.save(FOUND / f"{name}.png")
    marked(now, found).save(FOUND / f"{name}-differs.png")
    return [f"{name}: {found}; see {FOUND.relative_to(ROOT)}/{name}-differs.png"]


@pytest.mark.parametrize(("size", "width"), [(WIDE, ""), (PHONE, "-390")], ids=["wide", "phone"])
def test_pages_look_as_they_did(
    browser: Browser, live_server: Any, gallery: Gallery, size: Any, width: str
) -> None:
    page = open_page(browser, gallery, live_server.url, size)
    compare(page, live_server.url, gallery, ON_A_PHONE if width else PAGES, width)


def test_pages_look_as_they_did_in_chinese(
    browser: Browser, live_server: Any, gallery: Gallery, chinese_letters: None
) -> None:
    page = open_page(browser, gallery, live_server.url, WIDE, locale="zh-CN")
    compare(page, live_server.url, gallery, IN_CHINESE, "-zh")


def compare(page: Page, server: str, gallery: Gallery, names: Iterable[str], which: str) -> None:
    """Each page with its picture, which is taken anew where that was asked for."""
    found = []
    for name in names:
        address = PAGES[name].format(asked=gallery.asked.pk, request=gallery.request.pk)
        seen = picture(page, f"{server}{address}")
        if RENEW:
            keep(seen, KEPT / f"{name}{which}.png")
        found += differs(f"{name}{which}", seen)
    page.context.close()
    assert not found, "\n".join([*found, "If that is meant: make snapshots, look at them, and commit them."])


CHANGES = {
    "a column is gone": "td:nth-child(5), th:nth-child(5) { display: none }",
    "shifted by three pixels": "main { position: relative; left: 3px }",
    "levels in another colour": ".level { background: orange !important }",
    "states in another colour": ".state { color: red !important }",
    "no icons": ".state svg { display: none }",
}


def changed(page: Page, css: str) -> Image.Image:
    """The page as it is now, with a rule of style more for the time of the picture."""
    page.evaluate(
        "css => { const s = new CSSStyleSheet(); s.replaceSync(css); document.adoptedStyleSheets.push(s) }",
        css,
    )
    seen = page.screenshot(animations="disabled")
    page.evaluate("() => { document.adoptedStyleSheets.pop() }")
    return Image.open(io.BytesIO(seen)).convert("RGB")


def test_the_comparison_tells_a_change_from_letters_drawn_otherwise(
    browser: Browser, live_server: Any, gallery: Gallery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.KEPT", tmp_path / "kept")
    monkeypatch.setattr(f"{__name__}.FOUND", tmp_path / "found")
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    (tmp_path / "kept").mkdir()
    page = open_page(browser, gallery, live_server.url, WIDE)
    seen = picture(page, f"{live_server.url}{PAGES['user']}")
    keep(seen, tmp_path / "kept" / "user.png")
    assert differs("user", seen.filter(ImageFilter.GaussianBlur(0.6))) == []
    assert not (tmp_path / "found").exists()
    for what, css in CHANGES.items():
        [said] = differs("user", changed(page, css)) or [""]
        assert "found/user-differs.png" in said, what
    assert {path.name for path in (tmp_path / "found").iterdir()} == {"user.png", "user-differs.png"}
    page.context.close()

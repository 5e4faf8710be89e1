"""The choice of language in a real browser: one click, and the script counts on in the same words."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.ui.conftest import House

NARROW = {"width": 390, "height": 844}


def test_one_click_turns_every_page_chinese_and_back(
    ada: Page, house: House, at: Callable[[str], str]
) -> None:
    ada.goto(at("/partitions/x/"))
    expect(ada.locator("html")).to_have_attribute("lang", "en")
    ada.get_by_role("button", name="简体中文").click()
    expect(ada).to_have_url(at("/partitions/x/"))
    expect(ada.locator("html")).to_have_attribute("lang", "zh-hans")
    ada.get_by_role("button", name="冻结视图").click()
    # The script, not the server, says this.
    ada.locator("#observed-at").evaluate(
        "element => element.setAttribute('datetime', new Date(Date.now() - 7440e3).toISOString())"
    )
    expect(ada.locator("#observed-at")).to_have_text(re.compile(r"^2 小时 \d 分钟前$"))
    house.touch()
    ada.get_by_role("button", name="继续更新").click()
    expect(ada.locator("#observed-at")).to_have_text(re.compile(r"^\d+ (秒|分钟)前$"))
    expect(ada.locator("#partition-now")).to_contain_text("今天停止")

    ada.set_viewport_size(NARROW)  # type: ignore[arg-type]
    for path in ("/", "/partitions/x/", "/partitions/x/policy/", "/audit/", "/account/"):
        ada.goto(at(path))
        assert ada.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
    ada.get_by_role("button", name="English").click()
    expect(ada.locator("html")).to_have_attribute("lang", "en")

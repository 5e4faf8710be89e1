"""Somebody with a keyboard and no pointer: what they get to by Tab, and that they see where they are."""

import re

from playwright.sync_api import Locator, Page, expect

FOCUSED = """e => {
    if (e !== document.activeElement) return ''
    const style = getComputedStyle(e), box = e.getBoundingClientRect()
    const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1
    const seen = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth
    return ring || style.boxShadow !== 'none' ? (seen ? 'seen' : 'outside the window') : 'no mark'
}"""
MOST = 150


AT_ONCE = "Date.now = (now => () => now)(Date.now())"


def at_once(page: Page) -> None:
    """Until the next page, no time goes by between two keys, however busy the machine is."""
    page.wait_for_load_state()
    page.evaluate(AT_ONCE)


class Keyboard:
    """Keys only. `to` fails when Tab does not lead to a control, or when the control does not show that it has it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.emulate_media(reduced_motion="reduce")  # the page does not glide to what has the focus

    def press(self, *keys: str) -> None:
        self.page.wait_for_load_state()  # before the scripts listen, a key is lost
        for key in keys:
            self.page.keyboard.press(key)

    def open(self, address: str) -> None:
        """Load a page and go to its content."""
        self.page.goto(address)
        self.skip()

    def skip(self) -> None:
        """The first stop leads to the content. A form without an address of its own keeps where one was."""
        if self.page.url.endswith("#main"):
            return
        link = self.page.locator("body > a[href='#main']")
        self.press("Tab")
        expect(link).to_be_focused()
        expect(link).to_be_in_viewport()
        self.press("Enter")
        self.page.wait_for_url(re.compile("#main$"))

    def to(self, target: Locator, key: str = "Tab") -> None:
        """Press Tab until the control has the focus."""
        expect(target).to_be_visible()
        for _ in range(MOST):
            self.press(key)
            seen = target.evaluate(FOCUSED)  # looked up each time: a part of the page may have come anew
            if seen:
                assert seen == "seen", f"{target}: {seen}"
                return
        raise AssertionError(f"{MOST} times {key} do not lead to {target}")

    def fill(self, target: Locator, text: str) -> None:
        """Go there and type over what there is."""
        self.to(target)
        self.press("Control+A")
        self.page.keyboard.type(text)

    def follow(self, target: Locator) -> None:
        """Go there, press Enter, and skip the navigation of the page that comes."""
        self.to(target)
        self.leave("Enter")

    def leave(self, *keys: str) -> None:
        """Keys that lead to another page, and to its content."""
        self.turn(*keys)
        self.skip()

    def turn(self, *keys: str) -> None:
        """Keys that lead to another page. Of several, the page takes those that follow each other quickly."""
        if len(keys) > 1:
            at_once(self.page)
        with self.page.expect_navigation():
            self.press(*keys)

    def push(self, target: Locator) -> None:
        """Go there and press Enter."""
        self.to(target)
        self.press("Enter")

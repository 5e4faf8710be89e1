"""Somebody who works with the pointer, or with the keyboard alone, and whose clicks are counted.

A click is a press on what acts: a link, a button, a fold, with the pointer or with Enter. Going to a field and writing
in it is writing, not a click.
"""

from playwright.sync_api import Locator, Page

from tests.browser.keyboard import Keyboard


class Hands:
    """The same acts by pointer and by keyboard."""

    def __init__(self, page: Page, *, by_keyboard: bool) -> None:
        self.page, self.clicks = page, 0
        self.keys = Keyboard(page) if by_keyboard else None

    def open(self, address: str) -> None:
        """Begin a task at a page: clicks are counted from here."""
        self.page.goto(address)
        self.clicks = 0
        if self.keys:
            self.keys.skip()

    def click(self, target: Locator) -> None:
        """Press it."""
        self.clicks += 1
        if self.keys:
            self.keys.push(target)
        else:
            target.click()

    def follow(self, target: Locator) -> None:
        """Press what leads to another page."""
        with self.page.expect_navigation():
            self.click(target)
        if self.keys:
            self.keys.skip()

    def write(self, target: Locator, text: str) -> None:
        """Put this into a field instead of what it holds."""
        if self.keys:
            self.keys.fill(target, text)
        else:
            target.fill(text)

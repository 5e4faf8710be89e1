"""Debian's Chromium for pytest-playwright's `page`: nothing is downloaded, and faults of a page are heard.

Without Chromium the tests are skipped with the reason, or fail where GIVEWAY_REQUIRE_BROWSER=1.
`page_faults` collects what the browser's console says at level error (a refused script or style is one of
them) and scripts' exceptions: assert that it is empty.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Locator, Page, expect

PATIENCE_MS = 180_000
"""What a page does takes a moment, and a minute on a machine that is busy with eight others."""
expect.set_options(timeout=PATIENCE_MS)
ACTS = (
    "check",
    "click",
    "dispatch_event",
    "fill",
    "focus",
    "hover",
    "press",
    "select_option",
    "tap",
    "type",
    "uncheck",
)
"""What a person does with a part of a page."""
REASON = "chromium is not installed: apt-get install chromium"


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    chromium = shutil.which("chromium")
    if chromium is None:
        if os.environ.get("GIVEWAY_REQUIRE_BROWSER") == "1":
            pytest.fail(f"GIVEWAY_REQUIRE_BROWSER=1, but {REASON}")
        pytest.skip(REASON)
    # Playwright's synchronous calls run an event loop in this thread; Django's ORM would refuse to work.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    # Chromium's sandbox does not work as root; the pages are our own.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    return browser_type_launch_args | {
        "executable_path": chromium,
        "args": [*sandbox, "--disable-dev-shm-usage"],
    }


@pytest.fixture(scope="session", autouse=True)
def nobody_acts_before_the_page_is_loaded() -> Iterator[None]:
    """A person is slower than a page that loads, a test is not: what it types before the scripts listen is lost."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ACTS:
            patch.setattr(Locator, name, _when_loaded(getattr(Locator, name)))
        yield


@pytest.fixture(scope="session", autouse=True)
def acts_have_as_long_as_expectations() -> Iterator[None]:
    """Playwright's own limits of 30 s for acts and pages have failed sound tests on busy machines."""
    new_context = Browser.new_context

    def patient(browser: Browser, **options: Any) -> BrowserContext:
        context = new_context(browser, **options)
        context.set_default_timeout(PATIENCE_MS)
        return context

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Browser, "new_context", patient)
        yield


def _when_loaded(act: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(act)
    def acted(locator: Locator, *args: Any, **kwargs: Any) -> Any:
        locator.page.wait_for_load_state()
        return act(locator, *args, **kwargs)

    return acted


# A request gives way to a newer one (hx-sync): htmx calls that an error, twice. A real failure has events of its own.
TAKEN_BACK = ("htmx:sendAbort", "htmx:afterRequest")


@pytest.fixture
def page_faults(page: Page) -> list[str]:
    faults: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(TAKEN_BACK):
            faults.append(message.text)

    def raised(error: Error) -> None:
        faults.append(error.message)

    page.on("console", heard)
    page.on("pageerror", raised)
    return faults

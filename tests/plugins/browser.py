"""Debian's Chromium for pytest-playwright's `page`: nothing is downloaded, and faults of a page are heard.

Without Chromium the tests are skipped with the reason, or fail where GIVEWAY_REQUIRE_BROWSER=1.
`page_faults` collects what the browser's console says at level error (a refused script or style is one of
them) and scripts' exceptions: assert that it is empty.
"""

import os
import shutil
from typing import Any

import pytest
from playwright.sync_api import ConsoleMessage, Error, Page, expect

expect.set_options(timeout=15_000)
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


@pytest.fixture
def page_faults(page: Page) -> list[str]:
    faults: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type == "error":
            faults.append(message.text)

    def raised(error: Error) -> None:
        faults.append(error.message)

    page.on("console", heard)
    page.on("pageerror", raised)
    return faults

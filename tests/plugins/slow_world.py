"""The browser's tests in a slow world, with GIVEWAY_SLOW_WORLD=<factor> in the environment: each answer of the server
comes late, a script later than its page, and the browser's processor is slower by the factor.

What a test asks of a page at once, and not when it is so, fails here and not on the day when a machine is busy.
"""

import os
import random
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from django.core.servers.basehttp import WSGIServer
from playwright.sync_api import BrowserContext, Page

FACTOR = float(os.environ.get("GIVEWAY_SLOW_WORLD", "0"))
LATE_S = {"js": (0.3, 0.9), "css": (0.0, 0.2)}
"""From and to, by how a path ends."""
OTHERS_S = (0.05, 0.4)
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def _late(application: Application) -> Application:
    def answered(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        ending = environ["PATH_INFO"].rpartition(".")[2]
        time.sleep(random.uniform(*LATE_S.get(ending, OTHERS_S)))
        return application(environ, start_response)

    return answered


@pytest.fixture(scope="session", autouse=True)
def answers_come_late() -> Iterator[None]:
    set_app = WSGIServer.set_app
    with pytest.MonkeyPatch.context() as patch:
        if FACTOR:
            patch.setattr(
                WSGIServer, "set_app", lambda server, application: set_app(server, _late(application))
            )
        yield


@pytest.fixture(scope="session", autouse=True)
def pages_have_a_slow_processor() -> Iterator[None]:
    new_page = BrowserContext.new_page

    def slow(context: BrowserContext) -> Page:
        page = new_page(context)
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": FACTOR})
        return page

    with pytest.MonkeyPatch.context() as patch:
        if FACTOR:
            patch.setattr(BrowserContext, "new_page", slow)
        yield

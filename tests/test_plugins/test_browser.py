"""What others wrote for the browser works under the console's strict policy, in the real Chromium."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Page, expect

from tests.test_project.repository import ROOT

POLICY = "default-src 'self'"
HEAD = """<!doctype html><html lang="en"><head><title>t</title>
<meta name="htmx-config"
      content='{"includeIndicatorStyles": false, "allowEval": false, "allowScriptTags": false}'>
<link rel="stylesheet" href="/vendor/tabler/tabler.min.css">
<script src="/vendor/htmx/htmx.min.js" defer></script></head>"""
PAGES = {
    "/": f"""{HEAD}<body><main hx-get="/part" hx-trigger="load" hx-target="#rows"><p id="rows">old</p>
        <select class="form-select"><option>a</option></select>
        <input type="checkbox" class="form-check-input" checked>
        <label class="form-check form-switch"><input class="form-check-input" type="checkbox"></label>
        <svg class="icon" id="bolt"><use href="/vendor/icons/sprite.svg#bolt"/></svg></main></body></html>""",
    "/part": "<b>new</b>",
    "/inline": f"{HEAD}<body><p style='color: red'>x</p><script>document.title = 'ran'</script>",
}

pytestmark = pytest.mark.browser


class Handler(SimpleHTTPRequestHandler):
    """Pages from above, files from static/, everything with the policy."""

    def do_GET(self) -> None:
        if self.path in PAGES:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(PAGES[self.path].encode())
        elif self.path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(ROOT / "static")))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_vendored_files_need_no_exception_from_the_policy(
    site: str, page: Page, page_faults: list[str]
) -> None:
    missing: list[str] = []
    page.on("response", lambda response: missing.append(response.url) if response.status >= 400 else None)
    page.goto(site)
    expect(page.locator("#rows")).to_have_text("new")  # htmx ran
    page.wait_for_load_state("networkidle")
    image = page.locator("select").evaluate("element => getComputedStyle(element).backgroundImage")
    assert image.startswith(f'url("{site}/vendor/tabler/img/')  # Tabler's arrow, as a file
    box = page.locator("#bolt use").evaluate("element => element.getBBox().height")
    assert box > 10, "the icon is drawn"
    assert (page_faults, missing) == ([], [])


def test_a_page_that_breaks_the_policy_is_heard(site: str, page: Page, page_faults: list[str]) -> None:
    page.goto(f"{site}/inline")
    assert page.title() == "t", "the inline script did not run"
    assert len(page_faults) == 2, page_faults
    assert all("Content Security Policy" in fault for fault in page_faults)

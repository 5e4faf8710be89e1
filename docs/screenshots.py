"""Make the pictures of the documentation from the running demonstration: `python docs/screenshots.py`.

Starts Giveway with a home folder and a port of its own, waits until the demonstration is making room for somebody,
takes the pictures, and ends what it started. Needs Debian's chromium and the development tools.
"""  # noqa: INP001 - a script beside the documents, not a package

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Error, Page, ViewportSize, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "img"
PASSWORD = "giveway-demo"  # noqa: S105 - the demonstration's, on the sign-in page of every `make run`
READY_S = 120
WAIT_FOR_A_PLAN_S = 180
WIDE: ViewportSize = {"width": 1440, "height": 960}
LARGEST = 300_000


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def start(home: str, port: int) -> subprocess.Popen[bytes]:
    """The demonstration, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "manage.py", "run", "--port", str(port)],
        cwd=ROOT,
        env={**os.environ, "GIVEWAY_HOME": home},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def open_console(page: Page, address: str) -> None:
    """Sign in as the administrator as soon as the console answers."""
    until = time.monotonic() + READY_S
    while True:
        try:
            page.goto(f"{address}/sign-in/")
            break
        except Error:
            if time.monotonic() > until:
                raise
            time.sleep(1)
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def wait_for_a_plan(page: Page, address: str) -> None:
    """Until the partition shows a plan at work, with a few that are done before it."""
    page.goto(f"{address}/partitions/demo/")
    until = time.monotonic() + WAIT_FOR_A_PLAN_S
    while time.monotonic() < until:
        figures = page.locator(".figures").inner_text()
        if (
            "running" in figures
            and page.locator("#plans-head").is_visible()
            and page.get_by_text("Done").count()
        ):
            return
        time.sleep(0.5)
    raise SystemExit("The demonstration made no room for anybody in three minutes.")


def take(page: Page, name: str) -> None:
    """One picture, the size of the window."""
    path = IMAGES / name
    page.mouse.move(0, 0)
    page.screenshot(path=path)
    size = path.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{name} has {size} bytes, more than {LARGEST}.")


def main() -> None:
    """Start, look, take, end."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium is not installed: apt-get install chromium")
    IMAGES.mkdir(parents=True, exist_ok=True)
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    address = f"http://127.0.0.1:{(port := free_port())}"
    with tempfile.TemporaryDirectory(prefix="giveway-pictures-") as home:
        giveway = start(home, port)
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=sandbox)
                page = browser.new_page(viewport=WIDE, color_scheme="light")
                open_console(page, address)
                wait_for_a_plan(page, address)
                take(page, "partition.png")
                browser.close()
        finally:
            giveway.send_signal(signal.SIGTERM)
            giveway.wait(30)


if __name__ == "__main__":
    main()

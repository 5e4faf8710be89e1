"""Make the pictures of the documentation from the running demonstration: `make screenshots`.

Starts Giveway with a home folder and a port of its own, waits until the demonstration is making room for somebody,
is each of the people of docs/tours in turn, takes the pictures, and ends what it started. Needs Debian's chromium and
the development tools. With names (`python docs/screenshots.py vic admin film`) only theirs are taken; `partition`
and `film` are those of the README, the second one moves.
"""  # noqa: INP001 - a script beside the documents, not a package

import base64
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from film import film
from playwright.sync_api import Browser, Error, Page, ViewportSize, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "img"
TOURS = ROOT / "docs" / "tours" / "img"
PASSWORD = "giveway-demo"  # noqa: S105 - the demonstration's, on the sign-in page of every `make run`
READY_S = 120
WAIT_FOR_A_PLAN_S = 180
WIDE: ViewportSize = {"width": 1440, "height": 960}
PHONE: ViewportSize = {"width": 390, "height": 844}
LARGEST = 300_000
LARGEST_OF_A_TOUR = 150_000
QUALITY = 80
expect.set_options(timeout=30_000)


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


def open_console(page: Page, address: str, name: str = "admin") -> None:
    """Sign in as soon as the console answers."""
    until = time.monotonic() + READY_S
    while True:
        try:
            page.goto(f"{address}/sign-in/")
            break
        except Error:
            if time.monotonic() > until:
                raise
            time.sleep(1)
    page.get_by_label("Username").fill(name)
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


def shoot(page: Page, name: str) -> None:
    """One picture of a tour: WebP, which Chromium makes itself."""
    page.mouse.move(0, 0)
    answer = page.context.new_cdp_session(page).send(
        "Page.captureScreenshot", {"format": "webp", "quality": QUALITY}
    )
    data = base64.b64decode(answer["data"])
    if len(data) > LARGEST_OF_A_TOUR:
        raise SystemExit(f"{name} has {len(data)} bytes, more than {LARGEST_OF_A_TOUR}.")
    (TOURS / f"{name}.webp").write_bytes(data)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).last.click()


def administrator_of_a_partition(page: Page, address: str) -> None:
    """The partition, a policy with what it would do, the draft beside what is in force, the tally of shadow."""
    wait_for_a_plan(page, address)
    shoot(page, "partition")
    page.goto(f"{address}/partitions/demo/policy/")
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Overrides").click()
    press(page, "Add a user")
    page.get_by_label("User, 1").fill("eve")
    page.get_by_label("Level, 1").first.fill("P0")
    expect(page.locator("#bar-now > summary")).to_contain_text("1 change")
    page.locator("#bar-now > summary").click()
    expect(page.locator("#bar-now .changes")).to_contain_text("eve")
    shoot(page, "policy-what-if")
    page.get_by_label("Reason").fill("Eve releases this week")
    page.get_by_text("Not yet: save it as a draft").click()
    page.get_by_label("Name of the draft").fill("Release week")
    press(page, "Save as a draft")
    page.get_by_role("link", name="Compare with what is in force").first.click()
    expect(page.get_by_role("heading", name="Put the draft in force")).to_be_visible()
    shoot(page, "draft-compare")
    page.goto(f"{address}/partitions/cpu/shadow/")
    shoot(page, "shadow-tally")


def project_manager(page: Page, address: str) -> None:
    """An urgency with its levels, then a deadline with its course; a change is saved for the auditor to find."""
    page.goto(f"{address}/projects/gamma/")
    page.get_by_label("Urgency", exact=True).fill("4")
    expect(page.locator("#levels-preview")).to_contain_text("→")
    shoot(page, "project-urgency")
    page.get_by_label("By deadline").check()
    day = datetime.now(UTC).date() + timedelta(days=10)
    page.get_by_label("Urgency", exact=True).fill("1")
    page.get_by_label("Deadline", exact=True).fill(day.isoformat())
    expect(page.locator("#levels-preview")).to_contain_text(f"the deadline is {day.isoformat()}")
    shoot(page, "project-deadline")
    page.get_by_label("Reason").fill(f"The paper is due on {day.isoformat()}")
    press(page, "Save")
    expect(page.locator("main")).to_contain_text("has been saved")


def auditor(page: Page, address: str) -> None:
    """What became of project gamma, the last row opened, and that row on its own page."""
    page.goto(f"{address}/audit/?project=gamma")
    page.locator(".log-row summary").first.click()
    shoot(page, "audit-log")
    page.get_by_role("link", name="This row on a page of its own").first.click()
    expect(page.locator(".sides")).to_be_visible()
    shoot(page, "audit-row")


def user_of_the_cluster(page: Page, address: str) -> None:
    """Whose job waits or was stopped, and why, on a wide screen and on a phone."""
    until = time.monotonic() + WAIT_FOR_A_PLAN_S
    page.goto(f"{address}/my-jobs/")
    while time.monotonic() < until and not page.locator("#stopped-head").is_visible():
        page.reload()
        time.sleep(2)
    shoot(page, "my-jobs")
    page.goto(address + (page.locator("a[id^='s-']").first.get_attribute("href") or ""))
    expect(page.locator(".answer").first).to_be_visible()
    shoot(page, "job-stopped")
    page.set_viewport_size(PHONE)
    page.reload()
    shoot(page, "job-phone")


def whoever_installs_it(page: Page, address: str) -> None:
    """The first minutes, and what the doctor finds."""
    page.goto(f"{address}/setup/")
    shoot(page, "setup")
    page.goto(f"{address}/setup/cluster/")
    expect(page.get_by_role("table")).to_be_visible()
    shoot(page, "doctor")


TOUR = (
    ("dave", administrator_of_a_partition),
    ("pam", project_manager),
    ("ada", auditor),
    ("vic", user_of_the_cluster),
    ("admin", whoever_installs_it),
)


def link_vic(home: str) -> None:
    """`vic` is finn on the cluster, whose jobs are the first to give way."""
    subprocess.run(
        [
            sys.executable,
            "manage.py",
            "account",
            "change",
            "vic",
            "--cluster-user",
            "finn",
            "--reason",
            "Tour.",
        ],
        cwd=ROOT,
        env={**os.environ, "GIVEWAY_HOME": home},
        check=True,
        stdout=subprocess.DEVNULL,
    )


def take_all(browser: Browser, home: str, address: str, only: list[str]) -> None:
    """Every picture, or those of some people; each person has a page of their own."""
    page = browser.new_page(viewport=WIDE, color_scheme="light")
    open_console(page, address)
    wait_for_a_plan(page, address)
    if not only or "partition" in only:
        take(page, "partition.png")
    if not only or "film" in only:
        film(page, address, IMAGES / "lanes.webp")
    link_vic(home)
    for name, go in TOUR:
        if only and name not in only:
            continue
        page = browser.new_page(viewport=WIDE, color_scheme="light")
        open_console(page, address, name)
        expect(page).not_to_have_url(re.compile("sign-in"))
        go(page, address)
        page.close()


def main() -> None:
    """Start, look, take, end."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium is not installed: apt-get install chromium")
    for folder in (IMAGES, TOURS):
        folder.mkdir(parents=True, exist_ok=True)
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    address = f"http://127.0.0.1:{(port := free_port())}"
    with tempfile.TemporaryDirectory(prefix="giveway-pictures-") as home:
        giveway = start(home, port)
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=sandbox)
                take_all(browser, home, address, sys.argv[1:])
                browser.close()
        finally:
            giveway.send_signal(signal.SIGTERM)
            giveway.wait(30)


if __name__ == "__main__":
    main()

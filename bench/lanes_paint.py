"""When the lane chart is first drawn in a large installation: `python -m bench.lanes_paint [--home FOLDER]`.

The data of `bench.web` (10,000 jobs on 1,313 nodes), the console's own gunicorn, and Chromium, which is found as the
browser's tests find it. The partition's page is opened again and again in a window that has nothing kept; from the
second time on, it counts. A change of the cluster comes before each. Prints a Markdown table in milliseconds, as the
browser's own clock has them: from navigation to the page's first byte and its last, to its first contentful paint, to
the moment when the first lanes were there (brought by the page, or the last byte of an answer) and to that when the
canvas was first drawn; the last two's difference; and until the frame with it was made. The last column is how long the
page's own thread was busy until all that was measured.

`--against`: another checkout of Giveway (`git worktree add`), of which each opening is measured in turns with it.
`--home`: a folder that an earlier run has filled, and is filled if it is not there; else it is made and taken away.
"""

import argparse
import os
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.web import ROOT, prepare, server, session_of

DRAWN = """
new MutationObserver((_, observer) => {
  if (document.getElementById("lanes-first")) window.broughtAt ??= performance.now();
  const lanes = document.querySelector("#lanes[data-from]");
  if (!lanes) return;
  window.drawnAt = performance.now();
  observer.disconnect();
  requestAnimationFrame(() => setTimeout(() => {
    window.shownAt = performance.now();
    document.documentElement.dataset.shown = "";
  }));
}).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-from"] });
"""
"""The chart says what it shows right after it has drawn it: then the canvas is on the next frame, which has been made
when what waits for it has its turn."""
TIMES = """() => {
  const page = performance.getEntriesByType("navigation")[0];
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const lanes = performance.getEntriesByType("resource").find((each) => each.name.includes("/lanes/?"));
  const thereAt = window.broughtAt || lanes.responseEnd;
  return [page.responseStart, page.responseEnd, paint.startTime, thereAt, window.drawnAt, window.drawnAt - thereAt,
    window.shownAt];
}"""
COLUMNS = (
    *("page begins", "page", "first paint", "lanes there", "drawn"),
    *("drawn after they came", "frame made", "busy"),
)


def once(browser: Any, address: str, session: str) -> list[float]:
    """One opening of the page."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_cookies([{"name": "sessionid", "value": session, "url": address}])
    context.add_init_script(DRAWN)
    page = context.new_page()
    devtools = context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(f"{address}/partitions/x/")
    page.wait_for_selector("html[data-shown]")
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
    metrics = {each["name"]: each["value"] for each in devtools.send("Performance.getMetrics")["metrics"]}
    times: list[float] = page.evaluate(TIMES)
    context.close()
    return [*times, 1000 * metrics["TaskDuration"]]


def measure(addresses: list[str], session: str, rounds: int) -> list[list[list[float]]]:
    """For each server the times of all openings but the first, in turns."""
    from django.db.models import F
    from playwright.sync_api import sync_playwright

    from console.cluster.models import Cluster

    found: list[list[list[float]]] = [[] for _ in addresses]
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
        browser = playwright.chromium.launch(executable_path=path)
        for _ in range(rounds + 1):
            for address, times in zip(addresses, found, strict=True):
                os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # playwright runs a loop in this thread
                Cluster.objects.update(version=F("version") + 1)
                times.append(once(browser, address, session))
        browser.close()
    return [times[1:] for times in found]


def report(what: str, found: list[list[float]]) -> None:
    """A table of one checkout."""
    print(f"| {len(found)} openings{what} | {' | '.join(COLUMNS)} |")
    print("|---|" + "--:|" * len(COLUMNS))
    for name, pick in (("median", statistics.median), ("least", min), ("most", max)):
        print(f"| {name} | {' | '.join(f'{pick(times):.0f}' for times in zip(*found, strict=True))} |")
    print()


def main() -> None:
    """Print the table."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--running", type=int, default=10_000)
    parser.add_argument("--pending", type=int, default=2_000)
    parser.add_argument("--audit", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    with ExitStack() as stack:
        home = args.home or stack.enter_context(tempfile.TemporaryDirectory(prefix="giveway-bench-"))
        there = (Path(home) / "giveway.sqlite3").exists()
        settings = {"DJANGO_SETTINGS_MODULE": "console.settings.local", "LOG_LEVEL": "WARNING"}
        os.environ |= {"GIVEWAY_HOME": str(home), **settings}
        if there:
            import django

            django.setup()
        else:
            prepare(args)
        session = session_of("ada")
        roots = [ROOT, *([args.against] if args.against else [])]
        ports = [stack.enter_context(server(root)) for root in roots]
        before = os.getloadavg()[0]
        found = measure([f"http://127.0.0.1:{port}" for port in ports], session, args.rounds)
    print(f"Load {before:.0f} to {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors.\n")
    for root, times in zip(roots, found, strict=True):
        report("" if root == ROOT else f", {root.name}", times)


if __name__ == "__main__":
    main()

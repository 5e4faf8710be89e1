"""The moving picture of the README: the lane chart while a job is stopped for another one (`docs/screenshots.py film`).

Frames are taken all the time and the last ones kept; when the chart has got a stop that was not there before, some more
follow, and Pillow joins them.
"""  # noqa: INP001 - a script beside the documents, not a package

import io
import re
import time
from collections import deque
from pathlib import Path

from PIL import Image
from playwright.sync_api import FloatRect, Page, ViewportSize, expect

SPAN_S = 600
BEFORE, AFTER = 10, 24
"""Frames before a stop is seen, and after it."""
EVERY_S = 1.0
SHOWN_MS, LAST_MS = 220, 2500
QUALITY = 55
LARGEST = 800_000
WAIT_S = 300
SMALL: ViewportSize = {"width": 1120, "height": 900}


def film(page: Page, address: str, path: Path) -> None:
    """Take it, and write an animated WebP."""
    page.set_viewport_size(SMALL)
    page.goto(f"{address}/partitions/demo/")
    zoom(page)
    frames = around_a_stop(page)
    times = [SHOWN_MS] * (len(frames) - 1) + [LAST_MS]
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=times, loop=0, quality=QUALITY, method=6
    )
    size = path.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{path.name} has {size} bytes, more than {LARGEST}.")


def zoom(page: Page) -> None:
    """Ten minutes, the present in the middle."""
    chart = page.locator("#lanes")
    expect(chart).to_have_attribute("data-bars", re.compile(r"[1-9]"))
    while int(chart.get_attribute("data-span") or 0) > SPAN_S:
        chart.locator("[data-lanes-do=in]").click()
        page.wait_for_timeout(100)
    chart.locator("[data-lanes-do=now]").click()
    page.mouse.move(0, 0)
    page.wait_for_timeout(1000)


def around_a_stop(page: Page) -> list[Image.Image]:
    """The frames before and after the first stop that comes."""
    frames: deque[Image.Image] = deque(maxlen=BEFORE + AFTER)
    before = last_stop(page)
    until, left = time.monotonic() + WAIT_S, -1
    while left:
        if time.monotonic() > until:
            raise SystemExit(f"Nobody was stopped in {WAIT_S} s.")
        begun = time.monotonic()
        frames.append(frame(page))
        if left > 0:
            left -= 1
        elif len(frames) >= BEFORE and last_stop(page) > before:
            left = AFTER
        page.wait_for_timeout(max(0, 1000 * (begun + EVERY_S - time.monotonic())))
    return list(frames)


def frame(page: Page) -> Image.Image:
    """The head of the chart and the chart, without the words below."""
    head, box = (page.locator(part).bounding_box() for part in ("#lanes header", "#lanes .lanes-box"))
    if head is None or box is None:
        raise SystemExit("The chart is not there.")
    clip = FloatRect(
        x=head["x"], y=head["y"], width=head["width"], height=box["y"] + box["height"] - head["y"]
    )
    return Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")


def last_stop(page: Page) -> int:
    """When somebody was stopped last."""
    answer = page.request.get(page.url.partition("/partitions/")[0] + "/api/v1/partitions/demo/lanes/").json()
    return max((stop["at"] for stop in answer["stops"]), default=0)

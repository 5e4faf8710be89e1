"""Threads of the web server have room for their frames: no depth at which each call has memory of the system."""

import gc
import resource
import signal
import sys
import threading
from collections.abc import Callable

import pytest

from console.launch import web

CALLS, DEEPEST = 400, 400


def leaf(a: int, b: int, c: int, d: int, e: int, f: int, g: int, h: int) -> int:
    """Its frame is larger than that of `faults_at`: at some depth it is the first one behind the end."""
    return max(a, b, c, d, e, f, g, h, a + b, c + d, e + f, g + h)


def faults_at(depth: int) -> int:
    """How many pages of memory a loop has had from the system that is called so deep."""
    if depth:
        return faults_at(depth - 1)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(CALLS):
        leaf(1, 2, 3, 4, 5, 6, 7, 8)
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def in_a_thread(run: Callable[[], None]) -> None:
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def test_no_depth_is_a_slow_one() -> None:
    found: list[int] = []

    def first() -> None:
        found.extend(faults_at(depth) for depth in range(DEEPEST))

    web.make_room(first)
    in_a_thread(first)
    assert len(found) == DEEPEST
    assert max(found) < CALLS / 2


def test_threads_of_the_web_server_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    roomy: list[object] = []
    monkeypatch.setattr(web, "make_room", roomy.append)
    for module, name in ((signal, "signal"), (sys, "setswitchinterval"), (gc, "freeze")):
        monkeypatch.setattr(module, name, lambda *_given: None)
    web.post_worker_init(None)
    assert roomy == [threading.Thread.run]

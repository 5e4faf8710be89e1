"""The end of a test waits for what the live server still answers."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any
from urllib.request import urlopen

import pytest
from django.core.signals import request_started
from pytest_django.live_server_helper import LiveServer

from tests.plugins import answering

ENOUGH_S = 60


def test_an_answer_that_is_under_way_is_waited_for(live_server: LiveServer) -> None:
    asked, go_on = Event(), Event()

    def slowly(environ: dict[str, Any], **_: Any) -> None:
        asked.set()
        go_on.wait(ENOUGH_S)

    request_started.connect(slowly)
    try:
        with ThreadPoolExecutor() as pool:
            answer = pool.submit(urlopen, f"{live_server.url}/livez", timeout=ENOUGH_S)
            assert asked.wait(ENOUGH_S)
            with pytest.raises(TimeoutError, match=r"not answered within 0\.1 s: 1"):
                answering.wait(0.1)
            go_on.set()
            with answer.result() as answered:
                assert answered.status == 200
            answering.wait()
    finally:
        request_started.disconnect(slowly)
        go_on.set()

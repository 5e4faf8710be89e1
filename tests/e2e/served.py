"""The console's API for jobs on a real Slurm: served by a thread, answered in the test's own, where its database is."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Queue
from typing import Any

from rest_framework.test import APIClient

ANSWER_S = 19.0
"""The test answers between two cycles; whoever asks waits for 20 s (console/power/benchmarks/measure.sh)."""


@dataclass
class Served:
    """Calls that have come, each with where its answer goes. `told`: what was sent, and the status of its answer;
    `answers`: what was answered."""

    url: str = ""
    calls: "Queue[tuple[str, bytes, Queue[tuple[int, bytes]]]]" = field(default_factory=Queue)
    told: list[tuple[bytes, int]] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)
    die: Callable[[], None] = lambda: None
    """Nobody answers any more, as if the console had been killed."""

    def answer(self) -> None:
        """Put the calls that have come to the real API, and give its answers back."""
        while True:
            try:
                path, body, back = self.calls.get_nowait()
            except Empty:
                return
            response = APIClient().generic("POST", path, body.decode(), content_type="application/json")
            self.told.append((body, response.status_code))
            self.answers.append(response.content)
            back.put((response.status_code, response.content))


@contextmanager
def served() -> Iterator[Served]:
    """A server on a free port of the loopback."""
    here = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            back: Queue[tuple[int, bytes]] = Queue()
            here.calls.put((self.path, self.rfile.read(int(self.headers["Content-Length"])), back))
            try:
                status, content = back.get(timeout=ANSWER_S)
            except Empty:
                status, content = 503, b""
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Not into the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()

    def die() -> None:
        server.shutdown()
        server.server_close()
        thread.join(10)

    here.die = die
    here.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield here
    finally:
        die()

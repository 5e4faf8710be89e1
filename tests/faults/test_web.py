"""The web server dies while somebody approves or rejects a plan: it is decided, or it is not; never half."""

import re
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from console.core.failpoints import WEB
from scheduler.adapters.simulator.state import What
from tests.e2e.processes import manage
from tests.faults.house import PLANS, ROLES, House, house
from tests.faults.tally import Row, note
from tests.faults.worlds import POLICY
from tests.plugins.server_process import free_port

pytestmark = [pytest.mark.e2e]

ANSWER_S = 180
PERSON = """
from console.accounts.services import AccountData, create_account
create_account(actor="system", username="admin", data=AccountData(role="administrator"), password="giveway-demo",
               reason="Test.")
"""


class Browser:
    """Signs in and presses buttons, as a person does."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar())).open

    def get(self, path: str) -> str:
        """A page."""
        text: str = self._open(self.url + path, timeout=ANSWER_S).read().decode()
        return text

    def post(self, page: str, path: str, **fields: str) -> bool:
        """Fill in a form of a page; false when the server dies of it."""
        hidden = dict(
            re.findall(r'<input type="hidden" name="(csrfmiddlewaretoken|seen)"[^>]*value="([^"]*)"', page)
        )
        body = urllib.parse.urlencode({**hidden, **fields}).encode()
        request = urllib.request.Request(self.url + path, body, {"Referer": self.url})
        try:
            self._open(request, timeout=ANSWER_S).read()
        except urllib.error.HTTPError:
            raise
        except (OSError, HTTPException):
            return False
        return True

    def sign_in(self) -> None:
        """As the administrator."""
        self.post(self.get("/sign-in/"), "/sign-in/", username="admin", password="giveway-demo")

    def decide(self, plan: int, decision: str) -> bool:
        """Approve or reject; false when the server dies of it."""
        page = self.get(f"/plans/{plan}/")
        return self.post(page, f"/plans/{plan}/decision/", decision=decision, reason="For this test.")


def test_a_death_of_the_web_server_leaves_a_decision_whole(tmp_path: Path) -> None:
    port = free_port()
    ROLES["web"] = (
        "-m",
        "gunicorn",
        "console.wsgi",
        "--config=python:console.launch.web",
        f"--bind=127.0.0.1:{port}",
        # A decision is refused when the cluster was last seen some cycles ago, and a server takes its time to be there
        # again.
        "--env=GIVEWAY_CYCLE_S=60",
    )
    with house(tmp_path / "home") as built:
        built.policy = {**POLICY, "grace_s": 0, "enforcement": "approve"}
        built.seed()
        assert manage("shell", "-v0", "-c", PERSON, env=built.env).returncode == 0
        low = built.submit("low", "ann", 8)
        built.until(built.has(What.STARTED, low), "the low job starts")
        first = built.submit("first", "cy", 8, run_time_s=2)
        steer(built)
        built.start("web", "web", fault=",".join(WEB))
        browser = Browser(port)
        built.until(lambda: answers(browser), "the web server answers")
        browser.sign_in()

        assert decided(built, browser, "reject") == [(False, "proposed"), (False, "rejected")]
        built.port.cancel(first)
        second = built.submit("second", "cy", 8, run_time_s=2)
        steer(built)
        assert decided(built, browser, "approve") == [(False, "proposed"), (False, "approved")]
        points = (built.home / "web.points").read_text()
        assert [point for point in WEB if f"{point} struck" not in points] == []

        built.start("steer", "steer")
        built.until(built.has(What.STARTED, second), "the approved job starts", 120)
        built.until(built.has(What.STARTED, low, 2), "the low job runs again", 120)
        double, lost, stuck = built.judge([low])
        lost = [words for words in lost if "rejected" not in words]
        note(Row("web server killed at a point", len(WEB), len(double), len(lost), len(stuck)))
        assert (double, lost, stuck) == ([], [], [])


def steer(built: House) -> bool:
    """One cycle, by the command."""
    return manage("steer", "--once", env=built.env).returncode == 0


def answers(browser: Browser) -> bool:
    try:
        return bool(browser.get("/livez"))
    except (OSError, HTTPException):
        return False


def decided(built: House, browser: Browser, decision: str) -> list[tuple[bool, str]]:
    """Decide twice on the newest plan: what was answered, and the plan's state, each time."""
    told = []
    for _ in range(2):
        plan = max(built.ask(PLANS))[0]
        built.until(lambda: answers(browser), "the web server answers")
        said = browser.decide(plan, decision)
        told.append((said, max(built.ask(PLANS))[2]))
    return told

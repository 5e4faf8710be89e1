"""The logs of the real processes: who, which cycle, which plan; and never a secret."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import clean_environment, manage, process, wait_until
from tests.plugins.migrated import create_migrated_database
from tests.plugins.server_process import free_port
from tests.plugins.servers import PostgresServer, RedisServer

pytestmark = [pytest.mark.e2e, pytest.mark.postgres, pytest.mark.redis]

SECRETS = {
    "SECRET_KEY": "the-console-signs-its-cookies-with-this-one-0123456789-abcdefghij",
    "GIVEWAY_METRICS_TOKEN": "prometheus-shows-this",
    "GIVEWAY_WEBHOOK_SECRET": "the-hook-is-signed-with-this",
}
PASSWORD, WRONG = "correct horse battery staple", "incorrect-donkey-accumulator"
GUESSED = "fedcba9876543210fedcba9876543210fedcba98"
HOOK = "path-of-the-hook"


class Person:
    """Somebody with a browser, or with curl."""

    def __init__(self, port: int) -> None:
        self.base = f"http://127.0.0.1:{port}"
        self.jar = CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar), _Stay)

    @property
    def cookies(self) -> dict[str, str]:
        return {cookie.name: cookie.value or "" for cookie in self.jar}

    def ask(self, path: str, data: dict[str, Any] | None = None, **headers: str) -> tuple[int, str]:
        """The status and the body."""
        as_json = path.startswith("/api/")
        body = None
        if data is not None:
            body = (json.dumps(data) if as_json else urllib.parse.urlencode(data)).encode()
        kind = "application/json" if as_json else "application/x-www-form-urlencoded"
        request = urllib.request.Request(self.base + path, body, {"Content-Type": kind, **headers})
        try:
            with self._opener.open(request, timeout=300) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


class _Stay(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like any other."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def ask_around(port: int) -> list[str]:
    """Requests with secrets in every place that a request has; the secrets that were sent or came back."""
    lena = Person(port)
    assert lena.ask("/sign-in/")[0] == 200
    form = {"username": "lena", "csrfmiddlewaretoken": lena.cookies["csrftoken"]}
    assert lena.ask("/sign-in/", {**form, "password": WRONG})[0] == 200
    assert lena.ask("/sign-in/", {**form, "password": PASSWORD})[0] == 302
    assert lena.ask("/")[0] == 200
    assert lena.ask(f"/nowhere/?token={GUESSED}&password={WRONG}")[0] == 404
    assert lena.ask("/account/token/", {"csrfmiddlewaretoken": "forged" + WRONG})[0] in {302, 403}

    curl = Person(port)
    assert curl.ask("/api/v1/token/", {"username": "lena", "password": WRONG})[0] == 400
    status, body = curl.ask("/api/v1/token/", {"username": "lena", "password": PASSWORD})
    assert status == 200
    token = json.loads(body)["token"]
    assert curl.ask("/api/v1/plans/", Authorization=f"Token {token}")[0] == 200
    assert curl.ask("/api/v1/plans/999999/", Authorization=f"Token {token}")[0] == 404
    assert curl.ask("/api/v1/plans/", Authorization=f"Token {GUESSED}")[0] == 401
    assert curl.ask("/metrics", Authorization=f"Bearer {GUESSED}")[0] == 401
    assert curl.ask("/metrics", Authorization=f"Bearer {SECRETS['GIVEWAY_METRICS_TOKEN']}")[0] == 200
    signed = f"eyJqb2IiOiIxMDEifQ:1wabcd:{'s' * 43}"
    assert curl.ask("/api/v1/checkpoints/", {"token": signed, "saved": "x"})[0] in {400, 403, 404}
    return [token, signed, lena.cookies["sessionid"], lena.cookies["csrftoken"]]


def lines_of(*logs: Path) -> list[dict[str, Any]]:
    """Every line of ours; all are JSON but gunicorn's own words before the console is loaded. The last one may be in
    the middle of being written."""
    found = []
    for log in logs:
        whole = log.read_text().rpartition("\n")[0]
        found += [json.loads(line) for line in whole.split("\n") if line.startswith("{")]
    return found


def _complains(log: Path) -> bool:
    """Whether it has told, with the exception, that the database is away."""
    told = [line["exception"] for line in lines_of(log) if "exception" in line]
    return any("OperationalError" in exception for exception in told)


def test_logs_tell_who_and_what_and_no_secret(tmp_path: Path) -> None:
    logs = {name: tmp_path / f"{name}.log" for name in ("web", "worker", "beat")}
    port = free_port()
    with PostgresServer() as postgres, RedisServer() as redis:
        env = clean_environment(
            **SECRETS,
            LOG_JSON="1",
            DATABASE_URL=create_migrated_database(postgres, "logs"),
            REDIS_URL=redis.url,
            GIVEWAY_HOME=str(tmp_path / "home"),
            GIVEWAY_WEBHOOK_URL=f"http://127.0.0.1:1/{HOOK}",
            GIVEWAY_NOTICE_EVERY_S="1",
            LOG_LEVEL="DEBUG",
        )
        seed = (
            "from console.launch.demo import seed; seed();"
            "from console.accounts.models import User;"
            f"User.objects.create_user('lena', password='{PASSWORD}', role='administrator')"
        )
        assert manage("shell", "-v0", "-c", seed, env=env).returncode == 0
        gunicorn = ("-m", "gunicorn", "console.wsgi", f"--bind=127.0.0.1:{port}", "--threads=4")
        celery = ("-m", "celery", "-A", "console")
        with (
            process(*gunicorn, env=env, log=logs["web"]),
            process(
                *celery, "worker", "--queues=celery,steer", "--concurrency=1", env=env, log=logs["worker"]
            ),
            process(*celery, "beat", env=env, log=logs["beat"]),
        ):
            person = Person(port)
            wait_until(lambda: _answers(person), "the console answers", 60, logs["web"])
            sent = ask_around(port)
            wait_until(
                lambda: any(line["event"] == "plan.verified" for line in lines_of(logs["worker"])),
                "a plan is carried out", 90, logs["worker"],
            )  # fmt: skip
            postgres.stop()
            wait_until(lambda: _complains(logs["worker"]), "the worker complains", 60, logs["worker"])
            assert person.ask("/readyz")[0] == 503
            assert person.ask("/sign-in/", {"username": "lena", "password": PASSWORD})[0] in {403, 500}
            redis.stop()
            time.sleep(4)  # for the worker and the timer to look for it
        secrets = [
            *SECRETS.values(),
            PASSWORD,
            WRONG,
            GUESSED,
            HOOK,
            postgres.password,
            redis.password,
            *sent,
        ]
    text = "".join(log.read_text() for log in logs.values())
    assert [secret for secret in secrets if secret in text] == []
    _tells_who_and_what(logs)


def _answers(person: Person) -> bool:
    try:
        return person.ask("/livez")[0] == 200
    except OSError:
        return False


def _tells_who_and_what(logs: dict[str, Path]) -> None:
    web, worker = lines_of(logs["web"]), lines_of(logs["worker"])
    assert all({"event", "level", "logger", "timestamp"} <= line.keys() for line in (*web, *worker))
    asked = {(line["path"], line["status"]): line for line in web if line["event"] == "request"}
    assert asked["/sign-in/", 302]["method"] == "POST"
    assert asked["/api/v1/plans/", 200]["user"] == "lena"
    assert asked["/", 200]["user"] == "lena"
    assert "user" not in asked["/api/v1/plans/", 401]
    assert all(len(line["request_id"]) == 32 for line in asked.values())
    missing = next(line for line in web if line["event"].startswith("Not Found: /nowhere/"))
    assert missing["request_id"] == asked["/nowhere/", 404]["request_id"] and missing["user"] == "lena"

    plans = [line for line in worker if line["event"].startswith("plan.")]
    actions = [line for line in worker if line["event"].startswith("action.")]
    assert {"plan.proposed", "plan.executing", "plan.verified"} <= {line["event"] for line in plans}
    assert {"action.issued", "action.verified"} <= {line["event"] for line in actions}
    assert all({"cluster", "cycle", "plan", "job", "partition"} <= line.keys() for line in (*plans, *actions))
    assert {line["level"] for line in (*plans, *actions)} == {"info"}
    done = next(
        line for line in actions if line["event"] == "action.verified" and line["kind"] == "requeue_hold"
    )
    assert done["plan"] in {line["plan"] for line in plans if line["event"] == "plan.executing"}

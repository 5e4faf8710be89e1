"""The webhook over a real socket: signed, in batches, at least once, never for ever."""

import hashlib
import hmac
import json
import time
from datetime import timedelta

import pytest
from pytest_django import Settings

from console.core import clock
from console.notices import hook
from console.notices.models import Notice
from console.notices.tasks import tell
from tests.notices.conftest import SECRET, Receiver
from tests.notices.test_mail import make_notice
from tests.plugins.database import SharedDatabase
from tests.steering.conftest import Sim

POST = (
    "import time; from console.notices.hook import post_notices; print(post_notices(time.monotonic() + 30))"
)
MAKE = """
from console.core import clock; from console.notices.models import Notice
now = clock.now()
for n in range(3):
    Notice.objects.create(kind="stopped", key=f"stopped/{n}", user="ann", cluster="dev", partition="x", job_id=str(n),
        plan=7, text="Stopped.", made_at=now, hook_due=now)
"""


def post() -> int:
    return hook.post_notices(time.monotonic() + 20)


@pytest.mark.django_db
def test_from_the_cycle_to_the_receiver_once(sim: Sim, by_hook: Receiver) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 8)
    sim.cycles(4)

    tell()
    tell()

    assert len(by_hook.posts) == 1
    assert [(n["kind"], n["user"], n["job_id"]) for n in by_hook.notices] == [
        ("stopped", "ann", low),
        ("started", "cy", urgent),
    ]
    assert set(by_hook.notices[0]) == {
        "id", "key", "kind", "user", "cluster", "partition", "job_id", "plan", "text", "made_at",
    }  # fmt: skip


@pytest.mark.django_db
def test_the_receiver_can_tell_that_it_is_ours(by_hook: Receiver) -> None:
    make_notice(1, mail_due=None, hook_due=clock.now())
    post()
    headers, body = by_hook.posts[0]
    stamp = headers["X-Giveway-Timestamp"]
    wanted = hmac.new(SECRET.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers["X-Giveway-Signature"] == f"sha256={wanted}"
    assert abs(int(stamp) - time.time()) < 60
    assert headers["Content-Type"] == "application/json"
    assert isinstance(json.loads(body), list)


@pytest.mark.django_db
def test_many_go_in_batches(by_hook: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "BATCH", 2)
    for number in range(5):
        make_notice(number, mail_due=None, hook_due=clock.now())
    assert post() == 5
    assert [len(json.loads(body)) for _, body in by_hook.posts] == [2, 2, 1]


@pytest.mark.django_db
@pytest.mark.parametrize("status", [500, 404, 302, 307])
def test_what_was_not_taken_is_sent_again_under_the_same_id(by_hook: Receiver, status: int) -> None:
    by_hook.answers = [status]
    before = clock.now()
    notice = make_notice(1, mail_due=None, hook_due=before)
    assert post() == 0
    notice.refresh_from_db()
    assert notice.hook_at is None and notice.hook_attempts == 1
    assert notice.hook_due is not None and notice.hook_due > before + timedelta(seconds=50)
    assert len(by_hook.posts) == 1, "a redirect is not followed"

    Notice.objects.update(hook_due=clock.now())
    assert post() == 1
    assert [n["id"] for n in by_hook.notices] == [notice.pk, notice.pk]


@pytest.mark.django_db
def test_nobody_listens(settings: Settings, by_hook: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    settings.GIVEWAY_WEBHOOK_URL = "http://127.0.0.1:1/with-a-secret-path"
    make_notice(1, mail_due=None, hook_due=clock.now())
    assert post() == 0
    said = caplog.text
    assert "cannot be reached" in said
    assert "with-a-secret-path" not in said and SECRET not in said


@pytest.mark.django_db(transaction=True)
def test_a_receiver_that_never_answers_is_left_in_time(
    by_hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    from threading import Event

    by_hook.holds = Event()
    monkeypatch.setattr(hook, "TIMEOUT_S", 0.5)
    make_notice(1, mail_due=None, hook_due=clock.now())
    before = time.monotonic()
    assert post() == 0
    assert time.monotonic() - before < 30
    by_hook.holds.set()


def _prepare(database: SharedDatabase, receiver: Receiver) -> None:
    """Notices that are due, and where they go."""
    database.settings = {"GIVEWAY_WEBHOOK_URL": receiver.url, "GIVEWAY_WEBHOOK_SECRET": SECRET}
    database.python(MAKE)


def test_killed_while_it_sends_nothing_is_lost_and_nothing_floods(
    shared_database: SharedDatabase, receiver: Receiver
) -> None:
    from threading import Event

    _prepare(shared_database, receiver)
    receiver.holds = Event()
    sender = shared_database.start(POST)
    sender.go()
    assert receiver.begun.wait(300), "the first POST is under way"
    sender.kill()
    assert sender.wait() == -9
    shared_database.running = []
    receiver.holds.set()
    receiver.holds = None

    assert shared_database.python(POST).strip() == "0", "claimed: not before the next try is due"
    past = "from console.notices.models import Notice; from console.core import clock\n"
    shared_database.python(f"{past}Notice.objects.update(hook_due=clock.now())")
    assert shared_database.python(POST).strip() == "3"
    assert shared_database.python(POST).strip() == "0"
    assert len(receiver.posts) == 2
    first, second = (sorted(n["id"] for n in json.loads(body)) for _, body in receiver.posts)
    assert first == second, "the receiver can tell the repeat by the ids"


def test_two_workers_at_once_send_each_notice_once(
    shared_database: SharedDatabase, receiver: Receiver
) -> None:
    _prepare(shared_database, receiver)
    shared_database.start(POST)
    shared_database.start(POST)
    assert sum(int(text.split()[-1]) for text in shared_database.go()) == 3
    ids = [notice["id"] for notice in receiver.notices]
    assert len(ids) == len(set(ids)) == 3

"""E-mails over a real socket: one per person and round, bounded tries, nobody waits for another's fault."""

import time
from datetime import timedelta

import pytest
from pytest_django import Settings

from console.accounts.services import set_language
from console.core import clock
from console.notices import hook, outbox
from console.notices.mail import address_of, send_mails
from console.notices.models import Notice
from console.notices.tasks import tell
from scheduler.model.sentence import Listed, Param, Sentence, say
from tests import factories
from tests.factories import NOW
from tests.notices.conftest import MailSink, Receiver
from tests.steering.conftest import Sim


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    """All of them write."""


def make_notice(number: int, user: str = "ann", **fields: object) -> Notice:
    now = clock.now()
    defaults = {
        "kind": "stopped", "key": f"stopped/{number}", "user": user, "cluster": "dev", "partition": "x",
        "job_id": str(number), "plan": 7, "text": f"Your job {number} was stopped.", "made_at": now, "mail_due": now,
    }  # fmt: skip
    return Notice.objects.create(**{**defaults, **fields})


def send() -> int:
    return send_mails(time.monotonic() + 20)


def due_again() -> None:
    """As if the time until the next try had passed."""
    Notice.objects.exclude(mail_due=None).update(mail_due=clock.now())


def test_from_the_cycle_to_the_letter_box(sim: Sim, by_mail: MailSink) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycles(4)

    tell()

    (mail,) = by_mail.to("ann@hpc.example")
    assert mail["Subject"] == f"Giveway: job {low} was stopped to make room"
    assert mail["From"] == "Giveway <giveway@hpc.example>"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert f"Your job {low}" in mail.get_content() and "giveway why" in mail.get_content()
    assert len(by_mail.to("cy@hpc.example")) == 1
    tell()
    assert len(by_mail.mails) == 2, "told once"


def test_one_mail_per_person_and_round_over_one_connection(by_mail: MailSink) -> None:
    numbers = [make_notice(number).pk for number in range(5)]
    make_notice(9, "cy")

    assert send() == 2
    (mail,) = by_mail.to("ann@hpc.example")
    assert mail["Subject"] == "Giveway: 5 notices"
    assert all(f"Your job {number} was stopped." in mail.get_content() for number in range(5))
    assert mail["X-Giveway-Notices"] == ",".join(map(str, numbers))
    assert by_mail.connections == 1


def test_what_a_notice_says_is_data_until_it_is_sent(by_mail: MailSink, by_hook: Receiver) -> None:
    facts: dict[str, Param] = {
        "job": "1 (t)",
        "at": "2026-11-25 20:00:00 UTC",
        "plan": 7,
        "victims": Listed(["8 (bob)", "9 (eve)"]),
    }
    now = clock.now()
    make_notice(1, text=say("notice.started", **facts), kind="started", hook_due=now)
    make_notice(2, text="Ihr Auftrag 2 läuft.", kind="started", hook_due=now)
    set_language(factories.make_viewer("ann"), "zh-hans")

    assert send() == 1 and hook.post_notices(time.monotonic() + 20) == 2
    (mail,) = by_mail.to("ann@hpc.example")
    said = by_hook.notices[0]["text"]
    assert said.startswith("您的作业 1 (t) ") and "8 (bob) 和 9 (eve)" in said
    assert said in mail.get_content() and "Ihr Auftrag 2 läuft." in mail.get_content(), (
        "one of before as it was"
    )
    kept = Notice.objects.get(key="stopped/1").text
    assert isinstance(kept, Sentence) and "by stopping 8 (bob) and 9 (eve)." in kept


def test_who_is_not_known_to_the_server_keeps_nobody_waiting(by_mail: MailSink) -> None:
    by_mail.refuses.add("ann@hpc.example")
    refused, other = make_notice(1), make_notice(2, "cy")
    before = clock.now()

    assert send() == 1
    refused.refresh_from_db()
    other.refresh_from_db()
    assert other.mail_at is not None and other.mail_due is None
    assert refused.mail_at is None and refused.mail_attempts == 1
    assert refused.mail_due is not None and refused.mail_due > before + timedelta(seconds=50)


def test_tries_are_bounded_farther_and_farther_apart_and_the_end_is_logged(
    by_mail: MailSink, caplog: pytest.LogCaptureFixture
) -> None:
    by_mail.refuses.add("ann@hpc.example")
    notice = make_notice(1)
    waits = []
    for _ in range(outbox.MOST_ATTEMPTS + 3):
        before = clock.now()
        send()
        notice.refresh_from_db()
        if notice.mail_due:
            waits.append(round((notice.mail_due - before).total_seconds() / 60))
        due_again()

    assert waits == [1, 2, 4, 8, 16, 32, 64]
    assert (notice.mail_attempts, notice.mail_at, notice.mail_due) == (outbox.MOST_ATTEMPTS, None, None)
    assert caplog.text.count("notices given up") == 1


def test_while_the_server_is_away_one_try_is_spent_and_the_others_wait(
    by_mail: MailSink, settings: Settings
) -> None:
    settings.EMAIL_PORT = 1  # nobody listens there
    for number, user in enumerate(["ann", "bob", "cy"]):
        make_notice(number, user)

    assert send() == 0
    assert sorted(Notice.objects.values_list("mail_attempts", flat=True)) == [0, 0, 1]
    settings.EMAIL_PORT = by_mail.port
    due_again()
    assert send() == 3


def test_a_connection_that_is_lost_in_the_middle_loses_nothing(by_mail: MailSink) -> None:
    for number, user in enumerate(["ann", "bob", "cy"]):
        make_notice(number, user)
    by_mail.drops_after = 1

    assert send() == 1
    by_mail.drops_after = None
    due_again()
    assert send() == 2
    assert sorted(address for address, _ in by_mail.mails) == [
        f"{u}@hpc.example" for u in ("ann", "bob", "cy")
    ]


def test_news_of_yesterday_is_given_up(by_mail: MailSink) -> None:
    notice = make_notice(1, made_at=clock.now() - timedelta(days=2))
    assert send() == 0
    notice.refresh_from_db()
    assert notice.mail_due is None and by_mail.mails == []


def test_where_an_address_comes_from(settings: Settings) -> None:
    settings.GIVEWAY_EMAIL_DOMAIN = "hpc.example"
    factories.make_user("ann", email="ann@own.example")
    factories.make_user("robert", cluster_user="bob", email="robert@own.example")
    factories.make_user("bob", cluster_user="somebody_else", email="wrong@own.example")
    factories.make_user("left", email="left@own.example", is_active=False)
    assert address_of("ann") == "ann@own.example"
    assert address_of("bob") == "robert@own.example"
    assert address_of("left") == "left@hpc.example"
    assert address_of("cy") == "cy@hpc.example"
    assert address_of("cy\r\nBcc: all") == ""
    settings.GIVEWAY_EMAIL_DOMAIN = ""
    assert address_of("cy") == ""


def test_without_an_address_it_is_given_up_at_once_and_logged(
    by_mail: MailSink, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.GIVEWAY_EMAIL_DOMAIN = ""
    make_notice(1)
    assert send() == 0
    assert "no e-mail address is known of 'ann'" in caplog.text
    assert Notice.objects.get().mail_due is None


def test_a_repeat_has_the_same_message_id(by_mail: MailSink) -> None:
    make_notice(1)
    send()
    Notice.objects.update(mail_due=NOW)
    send()
    first, second = by_mail.to("ann@hpc.example")
    assert first["Message-ID"] == second["Message-ID"]


def test_a_round_ends_when_its_time_is_over(by_mail: MailSink) -> None:
    make_notice(1)
    assert send_mails(time.monotonic() - 1) == 0
    assert Notice.objects.get().mail_attempts == 0

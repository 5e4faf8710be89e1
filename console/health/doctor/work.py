"""The worker and what it needs: the broker, its cycles, the place of the audit anchors, the ways to tell people."""

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.conf import settings

from console.audit.anchors import anchor_file
from console.audit.checks import chain_state
from console.audit.models import AuditEntry, AuditHead
from console.audit.witnesses import witnesses
from console.core import clock
from console.core.installation import is_production
from console.health.doctor.findings import Finding, fail, ok, warn
from console.health.measuring import BROKER_S, QUEUES
from console.health.selectors import Health, pulse
from console.steering.models import Incident
from console.steering.recording.submit_rules import fault_of_rules, rules_path
from scheduler.model.words import names

OLDEST_REDIS = (5, 0)
MANY = 100
"""So many messages wait only where nobody takes them."""
UNANCHORED = timedelta(minutes=10)


def check_broker() -> Iterator[Finding]:
    """Redis: reachable, recent enough, keeps what it is given, is emptied by somebody."""
    if not settings.REDIS_URL:
        if is_production():
            yield warn(
                "broker",
                "The broker is embedded: worker and timer must be one process.",
                "Set REDIS_URL, and run `celery worker` and `celery beat`; or keep to `manage.py worker`.",
            )
        else:
            yield ok("broker", "Embedded: `manage.py worker` is worker and timer in one process.")
        return
    import redis

    client = redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=BROKER_S, socket_connect_timeout=BROKER_S
    )
    try:
        yield from _redis(client)
    except redis.AuthenticationError:
        yield fail("broker", "Redis refuses our password.", "Put the right one into REDIS_URL.")
    except redis.RedisError as error:
        yield fail(
            "broker",
            f"Redis does not answer ({type(error).__name__}).",
            "Start it, and see that REDIS_URL names its host and port.",
        )
    finally:
        client.close()


def _redis(client: Any) -> Iterator[Finding]:
    info = client.info("server")
    version = str(info["redis_version"])
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_REDIS:
        yield fail("broker", f"Redis {version} is too old.", "Install Redis 5.0 or later.")
    else:
        yield ok("broker", f"Redis {version} answers.")
    policy = client.info("memory").get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        yield warn(
            "broker",
            f"Redis may throw messages away when its memory is full (maxmemory-policy {policy}).",
            "Set maxmemory-policy noeviction.",
        )
    waiting = sum(client.llen(queue) for queue in QUEUES)
    if waiting > MANY:
        yield warn(
            "broker",
            f"{waiting} messages wait, and nobody takes them.",
            "Start a worker: celery -A console worker --queues=celery,steer --concurrency=1",
        )


def check_worker() -> Iterator[Finding]:
    """When the last cycle was, whether it saw the cluster, and whether it ended well."""
    now = pulse()
    cure = "Start the worker and its timer, and look into their logs."
    if now.cycle_age_s is None:
        yield fail("worker", "No cycle has ever run.", cure)
    elif now.health == Health.LATE:
        yield fail("worker", f"The last cycle ended {now.cycle_age_s:.0f} s ago.", cure)
    elif now.cycle_age_s < -1:
        yield warn(
            "clocks",
            f"The worker's clock is {-now.cycle_age_s:.0f} s ahead of this machine's.",
            "Let both keep their time by NTP (chrony).",
        )
    else:
        yield ok("worker", f"The last cycle ended {now.cycle_age_s:.1f} s ago.")
    if now.failure:
        yield fail(
            "worker",
            f"Nobody is stopped until a cycle has ended well: {now.failure}",
            "It is a defect: report it with the traceback that stands in the worker's log beside 'cycle failed'.",
        )
    if now.fault and now.cycle_age_s is not None:
        yield fail(
            "worker",
            f"It cannot observe the cluster, so nobody is stopped: {now.fault}",
            "See what is said of Slurm below.",
        )


def check_incidents() -> Iterator[Finding]:
    """Whether every job that was stopped is accounted for."""
    rows = Incident.objects.filter(closed_at=None).order_by("id")
    jobs = list(rows.values_list("job_id", flat=True))
    if not jobs:
        yield ok("incidents", "Every stopped job is accounted for.")
        return
    yield fail(
        "incidents",
        f"{len(jobs)} stopped jobs did not come back: {names(jobs)}.",
        "Look at each on the page of incidents: why it failed, and whether its user has submitted it again; then "
        "close it.",
    )


def check_audit() -> Iterator[Finding]:
    """Whether the log's head can be, and is, written down outside the database."""
    file = anchor_file()
    target = file if file.exists() else file.parent
    if not os.access(target, os.W_OK):
        yield fail(
            "audit",
            f"{target} cannot be written by this account, so no anchors of the audit log are kept.",
            "Give the account that runs the worker the right to write there, or set GIVEWAY_HOME.",
        )
        return
    head = AuditHead.objects.first()
    if head is None or head.sequence <= head.anchored:
        yield ok("audit", f"Anchors can be written to {file}.")
        return
    oldest = AuditEntry.objects.filter(sequence=head.anchored + 1).values_list("at", flat=True).first()
    if oldest and clock.now() - oldest > UNANCHORED:
        yield warn(
            "audit",
            f"{head.sequence - head.anchored} rows of the audit log have no anchor, the oldest since {oldest:%F %R}.",
            "Let the timer run (it writes one every minute), or run: manage.py audit anchor",
        )
    else:
        yield ok("audit", f"Anchors are written to {file}.")


def check_chain() -> Iterator[Finding]:
    """Up to which row the log was found whole, and when."""
    state = chain_state()
    latest, cure = state.latest, "Start the worker and its timer; it verifies every minute."
    if not AuditEntry.objects.exists() and (there := witnesses()):
        yield fail(
            "audit",
            f"The audit log is empty, but there are {names(there)}.",
            "Somebody has emptied it, or this is another database. See docs/audit.md, and: manage.py audit verify",
        )
    elif latest is None and not AuditEntry.objects.exists():
        yield ok("audit", "The audit log is empty.")
    elif latest is None or latest.finished_at is None:
        yield warn("audit", "The audit log has not been verified yet.", cure)
    elif latest.faults:
        yield fail(
            "audit",
            f"The audit log is not whole: {latest.faults[0]}",
            "Somebody has changed the database past Giveway. See docs/audit.md, and: manage.py audit verify",
        )
    elif state.late:
        yield warn("audit", f"Nobody has verified the audit log since {latest.finished_at:%F %R}.", cure)
    else:
        yield ok("audit", f"Verified up to row {latest.last} at {latest.finished_at:%F %R}.")


def check_messages() -> Iterator[Finding]:
    """E-mail and webhook, where they are switched on."""
    if settings.GIVEWAY_EMAIL:
        if settings.EMAIL_HOST in {"localhost", "127.0.0.1", ""} and is_production():
            yield warn(
                "messages",
                "E-mail goes to a mail server on this machine.",
                "Set EMAIL_URL if it is another one: smtp+tls://user:password@host:587",
            )
        else:
            way = (
                f"E-mail goes by {settings.EMAIL_HOST}."
                if settings.EMAIL_HOST
                else "E-mail goes by the local mail server."
            )
            yield ok("messages", way)
    if settings.GIVEWAY_WEBHOOK_URL:
        if settings.GIVEWAY_WEBHOOK_URL.startswith("http://"):
            yield warn(
                "messages", "The webhook's address is not encrypted.", "Use https in GIVEWAY_WEBHOOK_URL."
            )
        else:
            yield ok("messages", "The webhook's address is encrypted.")
    if not settings.GIVEWAY_EMAIL and not settings.GIVEWAY_WEBHOOK_URL:
        yield ok("messages", "E-mail and webhook are off.")


def check_submit_rules() -> Iterator[Finding]:
    """The file for slurmctld's job_submit plugin, where one is asked for: whole, and renewed."""
    path = rules_path()
    if path is None:
        return
    if path.resolve().is_relative_to(settings.HOME.resolve()):
        yield warn(
            "job_submit",
            f"{path} is in {settings.HOME}, which nobody but this account may enter: slurmctld may run under another.",
            "Give the file a folder of its own, and let slurmctld look there (docs/job-submit.md).",
        )
        return
    fault = fault_of_rules(int(clock.now().timestamp()))
    if fault:
        yield warn(
            "job_submit",
            f"Submissions are not checked: {fault}.",
            "Let the worker's account write in that folder; its log says what hinders it (docs/job-submit.md).",
        )
    else:
        yield ok("job_submit", f"The rules in {path} are up to date.")

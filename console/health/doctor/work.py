"""The worker and what it needs: the broker, its cycles, the place of the audit anchors, the ways to tell people."""

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.conf import settings

from console.audit.anchors import anchor_file
from console.audit.checks import chain_state
from console.audit.contributions import witnesses
from console.audit.models import AuditEntry, AuditHead
from console.cluster.models import Cluster
from console.core import clock
from console.core.installation import is_production
from console.health.doctor.findings import Finding, counted, fail, moment, ok, warn
from console.health.measuring import BROKER_S
from console.health.selectors import Health, pulse
from console.steering.metrics import read_cadence
from console.steering.models import Incident
from console.steering.submit_rules import fault_of_rules, rules_path
from scheduler.model.sentence import Listed, told

OLDEST_REDIS = (5, 0)
MANY = 100
"""So many messages wait only where nobody takes them."""
UNANCHORED = timedelta(minutes=10)


def check_broker() -> Iterator[Finding]:
    """Redis: reachable, recent enough, keeps what it is given, is emptied by somebody."""
    if not settings.REDIS_URL:
        if is_production():
            yield warn("broker", "doctor.broker.one_process")
        else:
            yield ok("broker", "doctor.broker.embedded")
        return
    import redis

    client = redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=BROKER_S, socket_connect_timeout=BROKER_S
    )
    try:
        yield from _redis(client)
    except redis.AuthenticationError:
        yield fail("broker", "doctor.broker.refuses")
    except redis.RedisError as error:
        yield fail("broker", "doctor.broker.away", name=type(error).__name__)
    finally:
        client.close()


def _redis(client: Any) -> Iterator[Finding]:
    info = client.info("server")
    version = str(info["redis_version"])
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_REDIS:
        yield fail("broker", "doctor.broker.old", version=version)
    else:
        yield ok("broker", "doctor.broker.answers", version=version)
    policy = client.info("memory").get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        yield warn("broker", "doctor.broker.forgets", name=policy)
    for queue in settings.GIVEWAY_QUEUES:
        waiting = client.llen(queue)
        if waiting > MANY:
            yield warn("broker", "doctor.broker.waiting", n=waiting, queue=queue)


def check_worker() -> Iterator[Finding]:
    """When the last cycle was, whether it saw the cluster, and whether it ended well."""
    now = pulse()
    if now.cycle_age_s is None:
        yield fail("worker", "doctor.worker.never")
    elif now.cycle_age_s < -1:
        yield warn("clocks", "doctor.clocks.worker_ahead", n=round(-now.cycle_age_s))
    elif now.health == Health.LATE:
        yield fail("worker", "doctor.worker.late", n=round(now.cycle_age_s))
    else:
        yield ok("worker", "doctor.worker.runs", n=f"{now.cycle_age_s:.1f}")
    if now.failure:
        yield fail("worker", "doctor.worker.failed", why=told(now.failure))
    if now.fault and now.cycle_age_s is not None:
        yield fail("worker", "doctor.worker.blind", why=told(now.fault))


def check_cadence() -> Iterator[Finding]:
    """How far apart the cycles of the last hour were, what slurmctld was asked, and how new jobs are noticed."""
    row = Cluster.objects.filter(name=settings.GIVEWAY_CLUSTER_NAME).first()
    if row is None:
        return
    now = read_cadence(row)
    if now.late_s:
        what = Listed([f"{name} ({seconds:.1f} s)" for name, seconds in now.instead])
        code = "doctor.cadence.late" if now.instead else "doctor.cadence.late.unknown"
        code = "doctor.cadence.late.start" if now.restarted else code
        yield warn("worker", code, n=round(now.longest_s), what=what)
    elif now.cycles:
        yield ok("worker", "doctor.cadence.steady", n=f"{now.p50_s:g}", most=f"{now.longest_s:.1f}")
    if row.is_simulated or now.pace is None:
        return
    share = f"{100 * now.share:.2f}"
    if now.limited:
        yield warn("requests", "doctor.requests.limited", n=now.limited, most=now.budget)
    elif now.stretched:
        yield warn("requests", "doctor.requests.stretched", n=now.stretched, most=now.budget)
    else:
        yield ok("requests", "doctor.requests.used", n=now.asked, most=now.budget, share=share)
    if now.pace.fault:
        yield warn("requests", "doctor.counters.away", why=told(now.pace.fault))
    elif now.rings:
        yield ok("requests", "doctor.bell.rings")
    else:
        yield ok("requests", "doctor.bell.none")


def check_incidents() -> Iterator[Finding]:
    """Whether every job that was stopped is accounted for."""
    rows = Incident.objects.filter(closed_at=None).order_by("id")
    jobs = list(rows.values_list("job_id", flat=True))
    if not jobs:
        yield ok("incidents", "doctor.incidents.none")
        return
    code = counted("doctor.incidents.open", len(jobs))
    yield fail("incidents", code, n=len(jobs), names=Listed(jobs))


def check_audit() -> Iterator[Finding]:
    """Whether the log's head can be, and is, written down outside the database."""
    file = anchor_file()
    target = file if file.exists() else file.parent
    if not os.access(target, os.W_OK):
        yield fail("audit", "doctor.audit.closed", path=str(target))
        return
    head = AuditHead.objects.first()
    if head is None or head.sequence <= head.anchored:
        yield ok("audit", "doctor.audit.writable", path=str(file))
        return
    oldest = AuditEntry.objects.filter(sequence=head.anchored + 1).values_list("at", flat=True).first()
    if oldest and clock.now() - oldest > UNANCHORED:
        count = head.sequence - head.anchored
        code = counted("doctor.audit.unanchored", count)
        yield warn("audit", code, n=count, moment=moment(oldest))
    else:
        yield ok("audit", "doctor.audit.anchored", path=str(file))


def check_chain() -> Iterator[Finding]:
    """Up to which row the log was found whole, and when."""
    state = chain_state()
    latest = state.latest
    if not AuditEntry.objects.exists() and (there := witnesses()):
        yield fail("audit", "doctor.audit.emptied", what=Listed(there))
    elif latest is None and not AuditEntry.objects.exists():
        yield ok("audit", "doctor.audit.empty")
    elif latest is None or latest.finished_at is None:
        yield warn("audit", "doctor.audit.never")
    elif latest.faults:
        yield fail("audit", "doctor.audit.broken", why=told(latest.faults[0]))
    elif state.late:
        yield warn("audit", "doctor.audit.late", moment=moment(latest.finished_at))
    else:
        yield ok("audit", "doctor.audit.whole", n=latest.last, moment=moment(latest.finished_at))


def check_messages() -> Iterator[Finding]:
    """E-mail and webhook, where they are switched on."""
    if settings.GIVEWAY_EMAIL:
        if settings.EMAIL_HOST in {"localhost", "127.0.0.1", ""} and is_production():
            yield warn("messages", "doctor.messages.here")
        elif settings.EMAIL_HOST:
            yield ok("messages", "doctor.messages.server", name=settings.EMAIL_HOST)
        else:
            yield ok("messages", "doctor.messages.local")
    if settings.GIVEWAY_WEBHOOK_URL:
        if settings.GIVEWAY_WEBHOOK_URL.startswith("http://"):
            yield warn("messages", "doctor.messages.plain")
        else:
            yield ok("messages", "doctor.messages.encrypted")
    if not settings.GIVEWAY_EMAIL and not settings.GIVEWAY_WEBHOOK_URL:
        yield ok("messages", "doctor.messages.off")


def check_submit_rules() -> Iterator[Finding]:
    """The file for slurmctld's job_submit plugin, where one is asked for: whole, and renewed."""
    path = rules_path()
    if path is None:
        return
    if path.resolve().is_relative_to(settings.HOME.resolve()):
        yield warn("job_submit", "doctor.rules.hidden", path=str(path), folder=str(settings.HOME))
        return
    fault = fault_of_rules(int(clock.now().timestamp()))
    if fault:
        yield warn("job_submit", "doctor.rules.unchecked", why=told(fault))
    else:
        yield ok("job_submit", "doctor.rules.up_to_date", path=str(path))

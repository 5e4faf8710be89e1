"""The settings of the console itself, and the partitions' policies."""

import re
from collections.abc import Iterator

from django.conf import settings
from django.core import checks
from django.core.checks import Tags
from django.core.checks.registry import registry

from console.accounts.demonstration import is_the_place, left_over
from console.cluster.models import ClusterPartition
from console.core.installation import is_production, is_simulated
from console.health.doctor.findings import Finding, Level, cure, fail, moment, ok, warn
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.steering.models import Pause
from scheduler.model.policy import Enforcement
from scheduler.model.sentence import Listed, Param
from scheduler.priority.keywords import open_keywords

NAME = "settings"
SHORTEST_TOKEN = 16
MANY = 40
"""So many names are listed; how many more there are is said."""


OF_THE_CODE = {Tags.urls, Tags.templates}
"""Django's checks of what no setting changes: tests run them. All pages are loaded for them, 40 MB of a worker."""


def check_settings() -> Iterator[Finding]:
    """Django's own check for deployment where it is one, and what it does not know of."""
    yield from _deployment()
    if settings.DEBUG:
        yield fail(NAME, "doctor.settings.debug")
    if not is_simulated() and not is_production():
        yield warn(NAME, "doctor.settings.trial", name=settings.SETTINGS_MODULE)
    if "*" in settings.ALLOWED_HOSTS:
        yield warn(NAME, "doctor.settings.every_host")
    token = settings.GIVEWAY_METRICS_TOKEN
    if token and len(token) < SHORTEST_TOKEN:
        yield warn(NAME, "doctor.settings.token", n=len(token), least=SHORTEST_TOKEN)


def _deployment() -> Iterator[Finding]:
    deployed = is_production()
    tags = sorted(registry.tags_available(deployed) - OF_THE_CODE)
    found = [
        message
        for message in checks.run_checks(tags=sorted(tags), include_deployment_checks=deployed)
        if message.level >= checks.WARNING and not message.is_silenced()
    ]
    for message in found:
        level = Level.FAIL if message.is_serious() else Level.WARN
        text = re.sub(r"\s+", " ", str(message.msg)).strip()
        yield Finding(NAME, level, f"{message.id}: {text}", message.hint or cure("doctor.settings.django"))
    if not found:
        yield ok(NAME, "doctor.settings.deployment" if is_production() else "doctor.settings.checked")


def check_accounts() -> Iterator[Finding]:
    """Whether anybody may come in with a password that everybody knows; where it is a demonstration, they shall."""
    names = [] if is_the_place() else left_over()
    if names:
        yield fail("accounts", "doctor.accounts.demonstration", names=Listed(names, limit=MANY))
    else:
        yield ok("accounts", "doctor.accounts.own")


def _open_keywords() -> Iterator[Finding]:
    """Levels that anybody takes for a job by naming it."""
    enforcing = Partition.objects.filter(
        cluster__name=settings.GIVEWAY_CLUSTER_NAME, revision__enforcement=Enforcement.ENFORCE
    )
    for row in enforcing.select_related("revision").order_by("name"):
        if found := [rule.keyword or "" for rule in open_keywords(policy_of(row))]:
            words = Listed(found, limit=MANY)
            yield warn("partitions", "doctor.partitions.keywords", partition=row.name, names=words)


def check_partitions() -> Iterator[Finding]:
    """How far each observed partition's plans go; information more than diagnosis."""
    policies = {
        row.name: row.revision.enforcement
        for row in Partition.objects.filter(
            cluster__name=settings.GIVEWAY_CLUSTER_NAME, revision__isnull=False
        ).select_related("revision")
        if row.revision
    }
    seen = ClusterPartition.objects.filter(cluster__name=settings.GIVEWAY_CLUSTER_NAME)
    names = set(seen.values_list("name", flat=True))
    for gone in sorted(policies.keys() - names) if names else []:
        yield warn("partitions", "doctor.partitions.gone", name=gone)
    for enforcement in ("enforce", "approve", "shadow"):
        which = sorted(name for name in policies.keys() & names if policies[name] == enforcement)
        if which:
            yield ok("partitions", f"doctor.partitions.{enforcement}", names=Listed(which, limit=MANY))
    without = sorted(names - policies.keys())
    if without:
        yield ok("partitions", "doctor.partitions.without", names=Listed(without, limit=MANY))
    yield from _open_keywords()
    for pause in Pause.objects.filter(cluster__name=settings.GIVEWAY_CLUSTER_NAME):
        params: dict[str, Param] = {"user": pause.by_whom, "moment": moment(pause.since)}
        if pause.partition:
            yield warn("partitions", "doctor.partitions.paused", partition=pause.partition, **params)
        else:
            yield warn("partitions", "doctor.partitions.all_paused", **params)

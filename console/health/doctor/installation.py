"""The settings of the console itself, and the partitions' policies."""

import re
from collections.abc import Iterator

from django.conf import settings
from django.core import checks

from console.accounts.demonstration import is_the_place, left_over
from console.cluster.models import ClusterPartition
from console.core.installation import is_production, is_simulated
from console.health.doctor.findings import Finding, fail, ok, warn
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.steering.models import Pause
from scheduler.model.policy import Enforcement
from scheduler.priority.keywords import open_keywords

NAME = "settings"
SHORTEST_TOKEN = 16


def check_settings() -> Iterator[Finding]:
    """Django's own check for deployment where it is one, and what it does not know of."""
    yield from _deployment()
    if settings.DEBUG:
        yield fail(NAME, "DEBUG is on: error pages show settings and code.", "Unset DEBUG.")
    if not is_simulated() and not is_production():
        yield warn(
            NAME,
            f"A real cluster is attached under {settings.SETTINGS_MODULE}, which is for trying Giveway out.",
            "Set DJANGO_SETTINGS_MODULE=console.settings.production.",
        )
    if "*" in settings.ALLOWED_HOSTS:
        yield warn(NAME, "ALLOWED_HOSTS allows every name.", "Name the console's own.")
    token = settings.GIVEWAY_METRICS_TOKEN
    if token and len(token) < SHORTEST_TOKEN:
        yield warn(
            NAME, f"GIVEWAY_METRICS_TOKEN has {len(token)} characters.", f"Use {SHORTEST_TOKEN} or more."
        )


def _deployment() -> Iterator[Finding]:
    found = [
        message
        for message in checks.run_checks(include_deployment_checks=is_production())
        if message.level >= checks.WARNING and not message.is_silenced()
    ]
    for message in found:
        tell = fail if message.is_serious() else warn
        text = re.sub(r"\s+", " ", str(message.msg)).strip()
        yield tell(NAME, f"{message.id}: {text}", message.hint or "See `manage.py check --deploy`.")
    if not found:
        nothing = (
            "Django's check for deployment finds nothing."
            if is_production()
            else "Django's check finds nothing."
        )
        yield ok(NAME, nothing)


def check_accounts() -> Iterator[Finding]:
    """Whether anybody may come in with a password that everybody knows; where it is a demonstration, they shall."""
    names = [] if is_the_place() else left_over()
    if names:
        yield fail(
            "accounts",
            f"These accounts have the demonstration's password, which everybody knows: {', '.join(names)}.",
            "Begin with a database of your own (DATABASE_URL, GIVEWAY_HOME), or change their passwords.",
        )
    else:
        yield ok("accounts", "No account has a password that everybody knows.")


def _open_keywords() -> Iterator[Finding]:
    """Levels that anybody takes for a job by naming it."""
    enforcing = Partition.objects.filter(
        cluster__name=settings.GIVEWAY_CLUSTER_NAME, revision__enforcement=Enforcement.ENFORCE
    )
    for row in enforcing.select_related("revision").order_by("name"):
        if found := [rule.keyword or "" for rule in open_keywords(policy_of(row))]:
            yield warn(
                "partitions",
                f"Anybody may have others stopped on {row.name} by the name of a job: {', '.join(found)}.",
                "Say on its policy's page who may use each of these keywords, or nobody.",
            )


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
        yield warn(
            "partitions",
            f"{gone} has a policy, but the cluster has no such partition.",
            "Look at its name in Slurm.",
        )
    for enforcement in ("enforce", "approve", "shadow"):
        which = sorted(name for name in policies.keys() & names if policies[name] == enforcement)
        if which:
            yield ok("partitions", f"In {enforcement}: {', '.join(which)}.")
    without = sorted(names - policies.keys())
    if without:
        yield ok("partitions", f"Without a policy, so nothing is planned there: {', '.join(without)}.")
    yield from _open_keywords()
    for pause in Pause.objects.filter(cluster__name=settings.GIVEWAY_CLUSTER_NAME):
        paused = (
            f"{pause.by_whom} has paused {pause.partition} since {pause.since:%F %R}: nobody is stopped there."
            if pause.partition
            else f"{pause.by_whom} has paused the whole cluster since {pause.since:%F %R}: nobody is stopped there."
        )
        yield warn(
            "partitions",
            paused,
            "Lift the pause on its page when its reason is gone.",
        )

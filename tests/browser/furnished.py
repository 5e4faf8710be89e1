"""A house in which every page has something on it: what there is too much of, what is too long, what waits."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from console.audit.models import AuditEntry
from console.audit.services import Context, Subject, record
from console.cluster.models import Cluster
from console.core import clock
from console.history.changes import encode_change, policy_change
from console.history.hindsight.asking import ask_hindsight
from console.history.models import PartitionMinute, QuotaMinute, Study
from console.history.studying import work_off
from console.partitions.drafts import Content, create_draft
from console.partitions.models import PolicyDraft
from console.partitions.selectors import policy_of
from console.power.models import PowerIncident
from console.projects.models import Project, ProjectProposal, ProjectRules, UrgencyRequest
from console.projects.rulebook import DEFAULT_SCHEDULE, ManagerLimits, Rules, encode_rules
from console.setup.models import Examination
from console.steering.models import Incident, Plan
from console.steering.pausing import pause
from tests import factories, needed
from tests.history.past_jobs import two_days
from tests.ui.conftest import House
from tests.ui.test_approvals import victim

LONG = "a_very_long_job_name_" * 6
FINDINGS = [
    {"check": "slurmctld", "level": "FAIL", "what": "No requeue. " * 12, "fix": "Set JobRequeue=1. " * 8},
    {"check": "worker", "level": "OK", "what": "It runs.", "fix": ""},
]


@dataclass(frozen=True)
class Furnished:
    """The house, and what of it stands in addresses."""

    house: House
    asked: Plan
    draft: PolicyDraft
    request: UrgencyRequest
    proposal: ProjectProposal
    row: AuditEntry
    study: Study
    incident: Incident
    slow: PowerIncident


@pytest.fixture
def furnished(house: House) -> Furnished:
    """Every level, long names, a plan that waits for a decision, a draft, a request, a pause, an incident, a doctor's
    findings."""
    _jobs(house.cluster)
    _past(house.cluster)
    house.x.revision = factories.make_revision(house.x, 2, enforcement="approve")
    house.x.save()
    factories.make_partition(house.cluster, "z", levels=[], quotas={}, user_overrides={}, task_overrides={})
    Examination.objects.create(
        cluster=house.cluster, examined_at=clock.now(), worst="FAIL", findings=FINDINGS
    )
    pause(actor="dave", cluster=house.cluster, partition=house.x, reason="Moving a node " * 12)
    content = Content("Weekend", factories.policy_document("x", enforcement="enforce", quotas={"P0": 1}))
    draft = create_draft(actor="dave", partition=house.x, content=content, reason="Let us talk")
    study = Study.objects.create(
        cluster=house.cluster,
        asked_by="ada",
        asked_at=clock.now(),
        days=7,
        question=encode_change(policy_change(house.x, content.document)),
        total=9,
    )
    _simulated_past(house)
    plan, request = asked_plan(house.cluster), asked_urgency(house)
    incident = factories.make_incident(house.plan, job_name=LONG)
    slow = factories.make_power_incident(house.cluster, "n1")
    proposal = needed.proposed(house.cluster)
    return Furnished(house, plan, draft, request, proposal, long_row(), study, incident, slow)


def _jobs(cluster: Cluster) -> None:
    for i in range(9):
        level = None if i == 8 else i
        fields: dict[str, Any] = {"user_level": level, "user_level_name": "" if level is None else f"P{i}"}
        factories.make_job(cluster, str(200 + i), name=LONG, place=i + 2, **fields)
        factories.make_running_job(cluster, str(300 + i), alloc={"n1": {"gpu": 1, "cpu": 1}}, **fields)
    factories.make_job(cluster, "901", account="physics", user="zoe")
    for i, why in enumerate(("no_requeue", "changed", "interactive", "het")):
        user = "somebody_with_a_rather_long_name" if i else "ann"
        factories.make_running_job(
            cluster, str(400 + i), user=user, immune=why, immune_since=factories.EPOCH - i
        )


def _simulated_past(house: House) -> None:
    """What last month would have been on x."""
    two_days(house.cluster)
    study = ask_hindsight(actor="ada", partition=house.x, policy=policy_of(house.x), days=30)
    work_off(study.pk)
    study.refresh_from_db()
    assert study.state == "done", study.fault


def _past(cluster: Cluster) -> None:
    """A tally of shadow on y, and half an hour of minutes of x, with the quotas of P0."""
    factories.make_plan(
        factories.make_cycle(cluster, 9),
        "201",
        partition="y",
        enforcement="shadow",
        state="verified",
        victims=[victim("92")],
        created_at=timezone.now(),
    )
    now = timezone.now().replace(second=0, microsecond=0)
    PartitionMinute.objects.bulk_create(
        PartitionMinute(
            cluster=cluster,
            partition="x",
            at=now - timedelta(minutes=ago),
            axis="user",
            total={"gpu": 8, "cpu": 64},
            used={"gpu": ago % 8},
            pending={"0": 2, "none": 1},
            started={"0": [1, 60]},
            stops=ago % 3,
        )
        for ago in range(30)
    )
    QuotaMinute.objects.bulk_create(
        QuotaMinute(
            cluster=cluster,
            partition="x",
            at=now - timedelta(minutes=ago),
            rank=0,
            uses={
                "quotas": {"": [1, ago % 2, {"a_user_with_a_very_long_name_of_the_cluster": ago % 2}]},
                "quota_totals": {"gpu": [16, 0, {"": ago % 16}], "mem": [512_000, 0, {"": 1000 * ago}]},
            },
        )
        for ago in range(30)
    )


def asked_plan(cluster: Cluster) -> Plan:
    """A plan that waits for a person, with everything that its page can show."""
    alternatives: list[dict[str, Any]] = [
        {"kind": "wait", "possible": True, "starts_at": None, "victims": [], "nodes": [], "explain": ""},
        {
            "kind": "other_order",
            "possible": True,
            "victims": [victim("90")],
            "nodes": ["n1"],
            "explain": "",
        },
        {"kind": "spare", "possible": False, "victims": [], "nodes": [], "explain": "Nothing " * 30},
    ]
    return factories.make_plan(
        factories.make_cycle(cluster, 8),
        "200",
        enforcement="approve",
        policy_revision=2,
        victims=[victim(), victim("91", name=LONG)],
        created_at=timezone.now() - timedelta(minutes=3),
        alternatives=alternatives,
        passed_over=[{"job": str(400 + n), "reason": "equal_or_higher"} for n in range(30)],
    )


def asked_urgency(house: House) -> UrgencyRequest:
    """Alpha follows a deadline, the rules have a limit, and its manager asks for more."""
    rules = Rules(DEFAULT_SCHEDULE, ManagerLimits(urgency_limit=4))
    ProjectRules.objects.create(pk=1, document=encode_rules(rules), version=2)
    day = clock.today() + timedelta(days=20)
    Project.objects.filter(code="alpha").update(urgency=1, urgency_by="deadline", deadline=day)
    return UrgencyRequest.objects.create(
        project=house.alpha,
        urgency=9,
        urgency_by="hand",
        asked_by="pam",
        asked_at=clock.now(),
        reason="The customer comes",
    )


def long_row() -> AuditEntry:
    """A row of the log whose every text is longer than a column."""
    with transaction.atomic():
        return record(
            actor="a.person.with.a.very.long.account.name@department.example.org",
            action="project.changed",
            subject=Subject("project", "alpha" * 8, "alpha " * 40, cluster="dev", project="alpha"),
            before={"name": "old " * 60, "urgency": 3, "members": ["ann"]},
            after={"name": "x" * 200, "urgency": 5, "members": ["ann", "bob"]},
            reason="Because " + "z" * 120 + " and a reason of several lines. " * 8,
            context=Context(request_id="0123456789abcdef" * 2),
        )

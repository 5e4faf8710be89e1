"""And more of it, for `bench.web`: compute power, what last month would have been, what managers ask for, people."""

import random
from datetime import datetime, timedelta
from typing import Any

RUN_LOSSES = 5_000
PAST_RUNS = 400
REVISIONS = 30
DEVICES = 8
CHUNK = 2_000


def fill_asked(cluster: Any, users: int) -> dict[str, int]:
    """Fill it after `bench.web_more` has; the numbers of what has a page of its own."""
    from console.core import clock

    chance, now = random.Random(3), clock.now()
    _accounts(cluster, users, now)
    return {
        "slow": _power(cluster, chance, now),
        "draft": _revisions(),
        "study": _studies(cluster, chance, now),
        **_requests(cluster, now),
    }


def _accounts(cluster: Any, users: int, now: datetime) -> None:
    """An account for each user of the cluster, with a token; those who have a part in something, and invitations."""
    from console.accounts.models import ApiToken, User
    from console.audit.models import SavedSearch
    from console.partitions.models import Partition, PartitionAdmin
    from console.projects.models import Membership, Project
    from console.setup.models import Invitation

    names = [f"user{number}" for number in range(users)]
    made = User.objects.bulk_create(
        User(username=name, role="viewer", email=f"{name}@example.org", last_login=now)
        for name in [*names, "pam", "dave"]
    )
    ada = User.objects.get(username="ada")
    ApiToken.objects.bulk_create(
        ApiToken(user=user, name="script", scope="read", digest=f"{user.pk:064d}", created_at=now)
        for user in [*made, ada]
    )
    for name in ("dave", *names[:5]):
        PartitionAdmin.objects.create(partition=Partition.objects.get(name="x"), username=name)
    Membership.objects.bulk_create(
        Membership(project=project, username="pam", role="manager")
        for project in Project.objects.filter(cluster=cluster)
    )
    SavedSearch.objects.bulk_create(
        SavedSearch(owner=ada, name=f"Search {n}", query=f"actor=user{n}") for n in range(10)
    )
    Invitation.objects.bulk_create(
        Invitation(
            key_hash=f"{n:064d}", username=f"guest{n}", role="viewer", invited_by="ada", created_at=now,
            expires_at=now + timedelta(days=3),
        )
        for n in range(20)
    )  # fmt: skip


def _revisions() -> int:
    """Many revisions of the policy, the last of which is as the first, and a draft; the draft's number."""
    from console.partitions.drafts import Content, create_draft
    from console.partitions.models import Partition
    from console.partitions.selectors import policy_in_force
    from console.partitions.services import activate_policy

    partition, document = Partition.objects.get(name="x"), {}
    for number in range(REVISIONS):
        partition = Partition.objects.get(name="x")
        before = policy_in_force(partition)
        document = before.document | {"rest_s": 300 if number % 2 else 600}
        activate_policy(
            actor="dave", partition=partition, document=document, reason="Measuring.", based_on=before.number
        )
    content = Content("Weekend", document | {"grace_s": 120})
    return create_draft(actor="dave", partition=partition, content=content, reason="Let us talk").pk


def _power(cluster: Any, chance: random.Random, now: datetime) -> int:
    """Each processor's figure, what runs lost by them, and five that stand out. The number of one."""
    from console.cluster.models import Node
    from console.partitions.models import Partition
    from console.power.models import MeasuringRule, PowerIncident, Processor, RunLoss

    partition, names = Partition.objects.get(name="x"), list(Node.objects.values_list("name", flat=True))
    MeasuringRule.objects.create(partition=partition, enabled=True, resource="cpu", at_most=4)
    Processor.objects.bulk_create(
        (
            Processor(
                cluster=cluster, node=name, resource="cpu", device=device, figure=10 + chance.random(), before=10.5,
                readings=3, source="measured", taken_at=now,
            )
            for name in names
            for device in range(DEVICES)
        ),
        batch_size=CHUNK,
    )  # fmt: skip
    clock_s = int(now.timestamp())
    RunLoss.objects.bulk_create(
        RunLoss(
            cluster=cluster, job_id=str(3_000_000 + number), start=clock_s - 500 * number - 9_000, restarts=0,
            ended=clock_s - 500 * number, partition="x", project=f"p{number % 60}", user=f"user{number % 97}",
            resource="cpu", processors=16, hours=40, lost=2, slowest=chance.choice(names),
        )
        for number in range(RUN_LOSSES)
    )  # fmt: skip
    made = PowerIncident.objects.bulk_create(
        PowerIncident(
            cluster=cluster, node=name, resource="cpu", device=2, kind="far", figure=11.8, figure_at=now, usual=10.0,
            share=0.18, siblings=31, opened_at=now,
        )
        for name in names[:5]
    )  # fmt: skip
    return made[0].pk


def _studies(cluster: Any, chance: random.Random, now: datetime) -> int:
    """What last month would have been, by the simulator, and questions that wait. The number of the answered one."""
    from console.forecasts.models import KeptRun
    from console.history.hindsight.asking import ask_hindsight
    from console.history.studying import work_off
    from console.partitions.models import Partition
    from console.partitions.selectors import policy_of

    def run(number: int) -> KeptRun:
        submit = int(now.timestamp()) - 20 * 86_400 + 3_000 * number
        start = submit + chance.randrange(3_000)
        return KeptRun(
            cluster=cluster, job_id=str(4_000_000 + number), user=f"user{number % 97}", name=f"p{number % 60}_train",
            partition="x", submit=submit, start=start, end=start + chance.randrange(600, 20_000), nodes=1, cpus=4,
            gpus=0, limit_s=86_400, state="COMPLETED", source="accounting",
        )  # fmt: skip

    KeptRun.objects.bulk_create(run(number) for number in range(PAST_RUNS))
    partition = Partition.objects.get(name="x")
    study = ask_hindsight(actor="ada", partition=partition, policy=policy_of(partition), days=30)
    work_off(study.pk)
    study.refresh_from_db()
    if study.state != "done":
        raise RuntimeError(f"the past was not simulated: {study.fault}")
    return study.pk


def _requests(cluster: Any, now: datetime) -> dict[str, int]:
    """What managers ask for: ten wait, hundreds are decided. A number of each."""
    from console.projects.models import Project, ProjectProposal, UrgencyRequest

    asked = {"asked_by": "pam", "asked_at": now, "reason": "The customer comes on Friday."}
    done = {"decided_by": "ada", "decided_at": now, "decision_reason": "Good.", "state": "approved"}
    projects = list(Project.objects.filter(cluster=cluster)[:20])
    requests = UrgencyRequest.objects.bulk_create(
        UrgencyRequest(project=project, urgency=9, urgency_by="hand", **asked, **({} if wave == 0 else done))
        for wave in range(20)
        for project in projects[:10]
    )
    entry = {
        "name": "Gamma", "size": 10, "grade": 2, "urgency": 1, "urgency_by": "hand", "slurm_account": "",
        "managers": ["pam"], "members": [f"user{n}" for n in range(20)], "tasks": [],
    }  # fmt: skip
    proposals = ProjectProposal.objects.bulk_create(
        ProjectProposal(
            cluster=cluster, code=f"new{n}", document={"code": f"new{n}", **entry}, share="x: 4 nodes", **asked,
            **({} if n < 10 else done | {"became": {"code": f"new{n}", **entry}}),
        )
        for n in range(50)
    )  # fmt: skip
    return {"request": requests[0].pk, "proposal": proposals[0].pk}

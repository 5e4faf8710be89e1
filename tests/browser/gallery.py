"""A small place at a fixed moment, for pictures that are compared: every number of it is written down here."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from console.cluster.models import Job, JobRun
from console.projects.models import UrgencyRequest
from console.steering.models import Plan
from scheduler.model.sentence import Seconds, say
from tests import factories
from tests.ui.conftest import House, make_house
from tests.ui.test_approvals import victim
from tests.ui.test_plan_pictures import keep_input, running

NOW, EPOCH = factories.NOW, factories.EPOCH
USERS = ("ann", "bob", "carol")
NODES = tuple(f"g{n:02d}" for n in range(1, 25))


@dataclass(frozen=True)
class Gallery:
    """The house, and what of it stands in addresses."""

    house: House
    asked: Plan
    request: UrgencyRequest


def make_gallery() -> Gallery:
    """With the clock at `NOW`: 26 nodes, jobs that wait, run and have ended, and what waits for people."""
    house = make_house()
    _nodes(house)
    _jobs(house)
    ada = house.people["ada"]
    ada.cluster_user = "bob"
    ada.save()
    house.x.revision = factories.make_revision(
        house.x, 2, enforcement="approve", exempt_s=600, quotas={"P0": 2, "P1": 6}
    )
    house.x.save()
    house.x.revisions.update(created_at=NOW - timedelta(days=2))
    request = UrgencyRequest.objects.create(
        project=house.alpha,
        urgency=9,
        urgency_by="hand",
        asked_by="pam",
        asked_at=NOW - timedelta(hours=3),
        reason="The customer comes on Friday",
    )
    return Gallery(house, _asked(house), request)


def _nodes(house: House) -> None:
    for number, name in enumerate(NODES):
        up = number != 7
        state = {"up": up, "state": "MIXED" if up else "DOWN", "state_reason": "" if up else "power"}
        factories.make_node(house.cluster, name, used={"cpu": number % 9, "gpu": number % 9}, **state)


def _jobs(house: House) -> None:
    cluster = house.cluster
    for number, name in enumerate(NODES):
        if number % 9 == 0 or number == 7:
            continue
        level, share = number % 3, number % 9
        fields: dict[str, Any] = {
            "user_level": level if level < 2 else None,
            "user_level_name": f"P{level}" if level < 2 else "",
            "time_limit_s": 1800 + 300 * number,
        }
        factories.make_running_job(
            cluster,
            str(300 + number),
            name=("train_resnet", "eval_batch", "alpha_eval_7")[number % 3],
            user=USERS[number % 3],
            start=EPOCH - 60 * number - 120,
            alloc={name: {"cpu": share, "gpu": share}},
            resources=f"{share} gpu, {share} cpu",
            **fields,
        )
    for number in range(6):
        job = factories.make_job(
            cluster,
            str(400 + number),
            name="finetune",
            user=USERS[number % 3],
            submit=EPOCH - 240 * (number + 1),
            user_level=number % 2,
            user_level_name=f"P{number % 2}",
            place=number + 2,
            reason="not_enough_even_so",
            resources=f"{number + 2} gpu",
            request={"nodes": 1, "per_node": {"gpu": number + 2}},
            time_limit_s=3600,
        )
        if number < 3:
            factories.make_expected_start(job, 900 + 600 * number, nodes=[NODES[number]])
    for number in range(6):
        job_id, begun = str(200 + number), EPOCH - 1700 + 200 * number
        factories.make_job(cluster, job_id, phase="ended", user=USERS[number % 3], user_level=number % 2)
        JobRun.objects.create(
            cluster=cluster, job_id=job_id, start=begun, restarts=0, ended=begun + 420, nodes=[NODES[number]]
        )
    Job.objects.filter(job_id="88").update(time_limit_s=2400, start=EPOCH - 300)


def _asked(house: House) -> Plan:
    """A plan that waits for a person: nodes before and after, two victims, one alternative of each kind."""
    alternatives: list[dict[str, Any]] = [
        {
            "kind": "wait",
            "possible": True,
            "starts_at": EPOCH + 900,
            "victims": [],
            "nodes": [],
            "explain": "",
        },
        {
            "kind": "other_order",
            "possible": True,
            "victims": [victim("303")],
            "nodes": ["g04"],
            "explain": "",
        },
    ]
    plan = factories.make_plan(
        factories.make_cycle(house.cluster, 8),
        "400",
        job_name="finetune",
        explain=say(
            "stop",
            who=say("job", job="400", user="ann", level="P0"),
            need=say("need.one_node", need="2 gpu"),
            free=say("free.node.none", nodes="g05"),
            victims=say("victim", job="304", user="bob", level="P1", time=Seconds(360)),
            nodes="g05",
        ),
        placement={"g05": {"cpu": 2}},
        enforcement="approve",
        policy_revision=2,
        victims=[victim("304", **_run(4)), victim("301", **_run(1))],
        created_at=NOW - timedelta(minutes=3),
        alternatives=alternatives,
        passed_over=[{"job": str(310 + n), "reason": "equal_or_higher"} for n in range(9)],
    )
    keep_input(plan, [running("304", {"g05": 4}), running("301", {"g02": 1})], ["g05", "g02"])
    return plan


def _run(number: int) -> dict[str, Any]:
    """What a plan says of the run of a job of `_jobs`."""
    ran_s = 60 * number + 120
    return {"name": "eval_batch", "start": EPOCH - ran_s, "ran_s": ran_s}

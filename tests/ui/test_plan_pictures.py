"""A plan's page as pictures: nodes before and after, steps on an axis, who was left alone, counted."""

import json
import re
import zlib
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client

from console.steering.models import Plan, StoredSnapshot
from tests import factories
from tests.markup import flat, words_of
from tests.ui.conftest import House

NOW = factories.NOW


def running(job: str, held: dict[str, int], user_level: int | None = 1, **more: Any) -> dict[str, Any]:
    alloc = {node: {"cpu": cpus} for node, cpus in held.items()}
    levels = {"user_level": user_level, "task_level": None}
    return {"id": job, "name": "train", "state": "running", "user": "bob", "alloc": alloc, **levels, **more}


def keep_input(plan: Plan, jobs: list[dict[str, Any]], nodes: list[str], **node: Any) -> None:
    waits = {"id": plan.job_id, "name": "eval", "state": "pending", "user": "ann", "user_level": 0}
    document = {
        "partition": {"name": "x", "mode": plan.mode, "level_names": ["P0", "P1", "P2"]},
        "nodes": [{"name": name, "up": True, "total": {"cpu": 8}, **node} for name in nodes],
        "jobs": [*jobs, waits],
    }
    text = json.dumps(document).encode()
    digest = f"{zlib.crc32(text):064d}"
    plan.stored_snapshot = StoredSnapshot.objects.create(digest=digest, body=zlib.compress(text))
    plan.save()


def shown(client: Client, plan: Plan) -> str:
    answer = client.get(f"/plans/{plan.pk}/")
    assert answer.status_code == 200
    return flat(answer.content.decode())


def bars(page: str) -> list[str]:
    """The bars in words: before and after of each node."""
    rooms = page.partition("Nodes before and after")[2].partition("</section>")[0]
    return [unescape(each) for each in re.findall(r'class="cells" role="group" aria-label="([^"]*)"', rooms)]


@pytest.mark.parametrize("state", ["proposed", "executing", "verified", "undone", "rejected"])
def test_a_node_is_drawn_before_and_after(house: House, ada: Client, state: str) -> None:
    Plan.objects.update(state=state)
    house.plan.refresh_from_db()
    keep_input(house.plan, [running("88", {"n1": 4}), running("90", {"n1": 2}, 0)], ["n1", "n2"])
    page = shown(ada, house.plan)
    assert bars(page) == [
        "before: 90 (bob), 2 cpu; 88 (bob), 4 cpu, makes room",
        "after: 90 (bob), 2 cpu; 101 (ann), 4 cpu",
    ]
    assert page.count('fill="url(#cut)"') == 1, "only who makes room is hatched"


def test_who_holds_no_gpu_is_drawn_on_a_node_that_has_some(house: House, ada: Client) -> None:
    jobs = [running("88", {"n1": 4}), running("90", {"n1": 2}, 0)]
    keep_input(house.plan, jobs, ["n1", "n2"], total={"cpu": 8, "gpu": 8})
    assert bars(shown(ada, house.plan)) == [
        "before: 90 (bob), 2 cpu; 88 (bob), 4 cpu, makes room",
        "after: 90 (bob), 2 cpu; 101 (ann), 4 cpu",
    ]


def test_other_nodes_of_who_makes_room_are_drawn_too(house: House, ada: Client) -> None:
    keep_input(house.plan, [running("88", {"n1": 4, "n2": 8})], ["n1", "n2"], held_elsewhere={"cpu": 1})
    found = bars(shown(ada, house.plan))
    assert len(found) == 4
    assert found[3] == "after: held elsewhere (1 cpu)"


def test_a_job_that_shrinks_keeps_its_other_nodes(house: House, ada: Client) -> None:
    victim = {"job": "88", "name": "t", "user": "bob", "how": "nodes", "nodes": ["n1"], "keeps": ["n2"]}
    Plan.objects.update(victims=[victim])
    house.plan.refresh_from_db()
    keep_input(house.plan, [running("88", {"n1": 4, "n2": 8})], ["n1", "n2"])
    assert bars(shown(ada, house.plan)) == [
        "before: 88 (bob), 4 cpu, makes room",
        "after: 101 (ann), 4 cpu",
        "before: 88 (bob), 8 cpu",
        "after: 88 (bob), 8 cpu",
    ]


def test_tasks_stand_on_their_nodes(house: House, ada: Client) -> None:
    tasks = [{"job": f"7_{n}", "name": "t", "restarts": 0, "node": f"n{n}", "seen": ""} for n in (1, 2)]
    Plan.objects.update(tasks=tasks, job_id="7_1", placement={"n1": {"cpu": 4}, "n2": {"cpu": 2}})
    house.plan.refresh_from_db()
    keep_input(house.plan, [running("88", {"n1": 4})], ["n1", "n2"])
    found = bars(shown(ada, house.plan))
    assert found[1] == "after: 7_1 (ann), 4 cpu" and found[3] == "after: 7_2 (ann), 2 cpu"


def test_hundreds_of_victims_are_folded(house: House, ada: Client) -> None:
    victims = [{"job": f"9_{n}", "name": "t", "user": "bob", "how": "requeue"} for n in range(300)]
    nodes = [f"n{n}" for n in range(1, 31)]
    jobs = [running(f"9_{n}", {nodes[n % 30]: 1}) for n in range(300)]
    jobs += [running(f"8_{n}", {"n1": 1}) for n in range(20)]
    Plan.objects.update(victims=victims, placement={"n1": {"cpu": 4}})
    house.plan.refresh_from_db()
    keep_input(house.plan, jobs, nodes, total={"cpu": 64})
    page = shown(ada, house.plan)
    found = bars(page)
    assert len(found) == 24 and "18 more nodes are not drawn." in words_of(page)
    assert found[0].startswith("before: 20 jobs (20 cpu); 9_0 (bob)")


def test_without_its_input_nothing_is_drawn(house: House, ada: Client) -> None:
    Plan.objects.update(stored_snapshot=None)
    page = shown(ada, house.plan)
    assert "Nodes before and after" not in page and "Jobs that make room" in page


def test_names_of_jobs_and_users_are_only_text(house: House, ada: Client) -> None:
    hostile = running("88", {"n1": 4}, user='<b a="1">')
    keep_input(house.plan, [hostile], ["n1"])
    page = shown(ada, house.plan)
    assert "<b a" not in page and "&lt;b a=&quot;1&quot;&gt;" in page


def test_steps_stand_on_an_axis(house: House, ada: Client) -> None:
    house.plan.actions.all().delete()
    factories.make_action(house.plan, "signal", order=15, state="verified", issued_at=NOW)
    for number in range(3):
        moment = NOW + timedelta(seconds=2 + number / 10)
        factories.make_action(house.plan, order=20, job_id=f"88_{number}", state="issued", issued_at=moment)
    factories.make_action(house.plan, "cancel", order=21, job_id="89", state="planned")
    Plan.objects.update(started_at=NOW + timedelta(seconds=4))
    page = shown(ada, house.plan)
    lines = re.findall(r"<li[^>]*>(.*?)</li>", page.partition('step-lines">')[2].partition("</ol>")[0])
    said = [words_of(line).strip() for line in lines]
    assert said[0].startswith("Send checkpoint signal") and said[0].endswith("+0.0 s")
    assert "× 3" in said[1] and said[1].endswith("+2.0 s to +2.2 s")
    assert said[2] == "101 runs +4.0 s" and len(said) == 3
    assert re.findall(r'x="([^"]+)" width="6"', lines[1]) == ["50%", "52.5%", "55%"]
    assert re.findall(r'x="([^"]+)" width="6"', lines[2]) == ["100%"]


def test_who_was_left_alone_is_counted_and_folded(house: House, ada: Client) -> None:
    left = [{"job": "7", "reason": "exempt"}]
    left += [{"job": str(n), "reason": "equal_or_higher"} for n in range(400, 700)]
    Plan.objects.update(passed_over=left)
    page = shown(ada, house.plan)
    groups = re.findall(r'<details id="(passed-\w+)">(.*?)</details>', page)
    assert [name for name, _rest in groups] == ["passed-equal_or_higher", "passed-exempt"]
    assert words_of(groups[0][1]).strip().startswith("300 jobs")
    assert 'href="/jobs/699/"' in groups[0][1]

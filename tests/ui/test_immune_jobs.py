"""How much of a partition is immune, to whom, why and since when: its page, the API, the metrics, the doctor."""

import re
from typing import Any

import pytest
from django.test import Client

from console.cluster.models import Cluster
from console.health.doctor.findings import Level
from console.health.doctor.immune import check_immune
from console.health.metrics import text
from tests import factories
from tests.factories import EPOCH
from tests.markup import flat
from tests.ui.conftest import House

PAGE = "/partitions/x/"


def immune(
    cluster: Cluster, job_id: str, why: str = "no_requeue", since: int = EPOCH - 100, **fields: Any
) -> None:
    alloc = {"n1": {"cpu": 4, "gpu": 2}}
    factories.make_running_job(
        cluster, job_id, **{"immune": why, "immune_since": since, "alloc": alloc, **fields}
    )


def section(page: str) -> str:
    found = re.search(r'<section class="sheet" id="immune".*?</section>', page, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", found[0]).split()) if found else ""


@pytest.fixture
def held(house: House) -> Cluster:
    """Of 16 CPUs and 16 GPUs: ann 4 and 2 twice, eve 4 and 2; in y somebody else."""
    immune(house.cluster, "701")
    immune(house.cluster, "702", "changed", EPOCH - 900)
    immune(house.cluster, "703", "interactive", user="eve<b>")
    immune(house.cluster, "704", user="zoe", partition="y")
    immune(house.cluster, "705", phase="ended", user="zoe")
    factories.make_running_job(
        house.cluster, "706", protected="the partition protects the user zoe", user="zoe"
    )
    house.touch()
    return house.cluster


def test_the_page_says_how_much_to_whom_why_and_since_when(held: Cluster, ada: Client) -> None:
    page = ada.get(PAGE).content.decode()
    said = section(page)
    assert (
        "3 running jobs that nobody stops, because Slurm does not requeue them: 6 gpu, 12 cpu, 75% of" in said
    )
    assert "whoever was submitted requeueable is made so again" in said
    rows = re.search(r"Since (.*)", said)
    assert rows is not None
    ann, eve = rows[1].split(" eve&lt;b&gt; ")
    assert ann.startswith(
        "ann 702 , 701 made not requeueable later, submitted with --no-requeue 4 gpu, 8 cpu "
    )
    assert eve.startswith("703 interactive 2 gpu, 4 cpu ")
    assert "zoe" not in said
    assert '<a href="#immune">75%</a>' in page
    assert "/jobs/702/" in page


def test_without_any_there_is_only_a_nought(house: House, ada: Client) -> None:
    page = flat(ada.get(PAGE))
    assert section(page) == ""
    assert "<dt>Immune</dt><dd>0</dd>" in page


def test_many_of_one_user_lead_to_the_list_and_many_users_are_cut(house: House, ada: Client) -> None:
    for number in range(12):
        immune(house.cluster, f"8{number:02}", alloc={"n1": {"cpu": 1}})
    for number in range(25):
        immune(house.cluster, f"9{number:02}", user=f"u{number:02}", alloc={})
    said = section(ada.get(PAGE).content.decode())
    assert "all 12" in said
    assert "and 6 more users" in said


def test_the_page_is_in_chinese_too(held: Cluster, ada: Client) -> None:
    said = section(ada.get(PAGE, headers={"accept-language": "zh-hans"}).content.decode())
    assert "3 个运行中的作业因 Slurm 不会将其重新排队而不会被停止" in said
    assert "提交后被改为不可重新排队" in said


def test_the_api_has_it_with_the_partition_and_each_job(held: Cluster, ada: Client) -> None:
    told = ada.get("/api/v1/partitions/x/").json()["immune"]
    assert (told["jobs"], told["amounts"]) == (3, {"cpu": 12, "gpu": 6})
    assert told["shares"] == {"gpu": 0.375, "cpu": 0.75}
    assert [(user["user"], user["jobs"], user["why"]) for user in told["users"]] == [
        ("ann", ["702", "701"], ["changed", "no_requeue"]),
        ("eve<b>", ["703"], ["interactive"]),
    ]
    assert told["users"][0]["since"]
    [job] = ada.get("/api/v1/jobs/?job_id=702").json()["results"]
    assert (job["immune"], job["immune_since"]) == ("changed", told["users"][0]["since"])
    assert ada.get("/api/v1/partitions/y/").json()["immune"]["jobs"] == 1


def test_the_metrics_have_it_for_every_partition(held: Cluster) -> None:
    lines = text().decode().splitlines()
    assert 'giveway_immune_jobs{cluster="dev",partition="x",why="changed"} 1.0' in lines
    assert 'giveway_immune_jobs{cluster="dev",partition="x",why="het"} 0.0' in lines
    assert 'giveway_immune_jobs{cluster="dev",partition="y",why="changed"} 0.0' in lines
    assert 'giveway_immune_share{cluster="dev",partition="x",resource="cpu"} 0.75' in lines


def test_the_doctor_warns_of_much_of_what_is_enforced(held: Cluster, house: House) -> None:
    assert list(check_immune()) == [], "nothing is enforced"
    house.x.revision = factories.make_revision(house.x, 2, enforcement="enforce")
    house.x.save()
    [finding] = check_immune()
    assert finding.level is Level.WARN
    assert finding.what.startswith("75% of partition x is held by 3 jobs that cannot be requeued")
    assert "most of it by ann" in finding.what
    held.jobs.exclude(job_id="703").filter(partition="x").update(immune="")
    [finding] = check_immune()
    assert finding.level is Level.OK, "4 of 16 CPUs are a quarter and no more"

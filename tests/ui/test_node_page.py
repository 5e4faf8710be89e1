"""A page for each node: what it has, who is there, who is expected next, how fast it was measured to be."""

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.accounts.services import set_language
from console.cluster.models import ClusterPartition, Job, Node
from console.partitions.models import Partition
from console.power.models import Processor
from console.starts.models import ExpectedStart
from tests import factories
from tests.markup import flat
from tests.ui.conftest import House, SignedIn, part


def page_of(browser: Client, name: str = "n1") -> str:
    answer = browser.get(f"/nodes/{name}/")
    assert answer.status_code == 200
    return flat(answer.content.decode())


def test_it_names_who_is_there_with_level_and_share(house: House, ada: Client) -> None:
    Job.objects.filter(job_id="88").update(alloc={"n1": {"cpu": 4, "gpu": 2}, "n2": {"cpu": 1}}, on_node="")
    page = page_of(ada)
    row = page.partition('href="/jobs/88/"')[2].partition("</tr>")[0]
    assert "bob" in row and "2 gpu, 4 cpu" in row and "P1" in row
    assert 'href="/partitions/x/"' in page
    assert 'href="/jobs/?node=n1"' in page


def test_a_job_on_another_node_only_is_not_there(house: House, ada: Client) -> None:
    Job.objects.filter(phase="running").update(alloc={"n2": {"cpu": 1}}, on_node="n2")
    assert "Nobody." in page_of(ada)


def test_a_drained_node_says_so_with_its_reason(house: House, ada: Client) -> None:
    Node.objects.filter(name="n1").update(up=False, state="idle+drain", state_reason="fan <b>broken</b>")
    page = page_of(ada)
    assert "fan &lt;b&gt;broken&lt;/b&gt;" in page and "state-warn" in page


def test_who_is_expected_there_and_how_fast_it_is(house: House, ada: Client) -> None:
    now = int(timezone.now().timestamp())
    ExpectedStart.objects.create(
        cluster=house.cluster, partition="x", job_id="101", nodes=["n1"], p50=now + 600, low=now, high=now + 900,
        submit=now - 60, made_at=now, first_at=now,
    )  # fmt: skip
    Processor.objects.create(
        cluster=house.cluster, node="n1", resource="gpu", device=2, figure=12.5, readings=3, source="measured",
        taken_at=timezone.now(),
    )  # fmt: skip
    page = page_of(ada)
    expected = page.partition("Expected next")[2]
    assert 'href="/jobs/101/"' in expected
    assert "gpu 2:<strong>12.50 s</strong>" in page


def test_a_poll_brings_the_part_and_nothing_when_nothing_is_new(house: House, ada: Client) -> None:
    page = ada.get("/nodes/n1/", headers=part("node-now")).content.decode()
    assert "<html" not in page and "Who is there" in page
    assert ada.get(f"/nodes/n1/?since={house.cluster.version}", headers=part("node-now")).status_code == 204


def test_it_asks_few_queries_however_many_jobs(house: House, ada: Client) -> None:
    for number in range(30):
        factories.make_running_job(house.cluster, str(500 + number))
    with CaptureQueriesContext(
        connection,
    ) as asked:
        page_of(ada)
    assert len(asked) <= 17


# --- The search -----------------------------------------------------------------------------------------------


def found(browser: Client, text: str) -> str:
    page = flat(browser.get("/jobs/", {"q": text}).content.decode())
    return page.partition('class="found"')[2].partition("</p>")[0]


def test_the_search_names_nodes_users_projects_partitions_and_plans(
    house: House, signed_in: SignedIn
) -> None:
    ada = signed_in("ada")
    assert 'node<a href="/nodes/n1/">n1</a>' in found(ada, "n1")
    assert 'user<a href="/users/bob/">bob</a>' in found(ada, "BOB")
    assert 'project<a href="/projects/alpha/">alpha</a>' in found(ada, "alph")
    assert f'plan<a href="/plans/{house.plan.pk}/">' in found(ada, str(house.plan.pk))
    Partition.objects.filter(name="x").update(name="xylem")
    ClusterPartition.objects.filter(name="x").update(name="xylem")
    assert 'partition<a href="/partitions/xylem/">' in found(ada, "xyl")


def test_the_search_names_pages_and_actions_that_this_person_may(house: House, signed_in: SignedIn) -> None:
    ada, dave, vera = signed_in("ada"), signed_in("dave"), signed_in("vera")
    assert 'page<a href="/audit/">Audit log</a>' in found(ada, "audit")
    assert 'action<a href="/partitions/x/policy/">Change the policy of x</a>' in found(ada, "policy x")
    assert 'action<a href="/partitions/y/policy/">' in found(ada, "change policy")
    assert "/partitions/y/policy/" not in found(dave, "change policy"), "y is not his"
    assert 'action<a href="/priority-file/">Import a priority file</a>' in found(dave, "import")
    assert 'action<a href="/account/">Make an API token</a>' in found(vera, "token")
    for text in ("audit", "policy x", "import", "people", "pause"):
        assert found(vera, text) == "", text


def test_pages_are_found_in_the_readers_language_and_in_english(house: House, signed_in: SignedIn) -> None:
    ada = signed_in("ada")
    set_language(house.people["ada"], "zh-hans")
    for text in ("审计", "audit"):
        assert '<a href="/audit/">审计日志</a>' in found(ada, text)


def test_a_search_that_fits_nothing_else_has_no_line(house: House, ada: Client) -> None:
    assert found(ada, "zzz") == ""
    assert found(ada, "") == ""
    assert found(ada, "b") == "", "a letter fits half of everything"


def test_a_hostile_search_is_only_text(house: House, ada: Client) -> None:
    for text in ("<script>", "%", "9" * 40, "\x00n1", "' OR 1=1 --"):
        answer = ada.get("/jobs/", {"q": text})
        assert answer.status_code == 200
        assert "<script>" not in answer.content.decode().partition('id="job-list"')[2].partition("</main>")[0]

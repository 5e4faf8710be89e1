"""The quotas of a partition: the matrix of level × limit, saving it, trying it, and who uses how much now."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from console.audit.models import AuditEntry
from console.core import clock
from console.history.models import QuotaMinute
from console.partitions.models import Partition, PolicyDraft, PolicyRevision
from console.partitions.quotas import all_uses
from console.partitions.selectors import policy_of
from tests import factories
from tests.markup import words_of
from tests.ui.conftest import House, SignedIn, part
from tests.ui.test_policy_pages import AT as POLICY
from tests.ui.test_policy_pages import sent_back, typed

AT = "/partitions/x/quotas/"
LIMITS: dict[str, Any] = {
    "quotas": {"P0": 1},
    "quota_amounts": {"P1": {"gpu": 16, "cpu": 128}},
    "quota_totals": {"P0": {"gpu": 8}},
}


@pytest.fixture
def limited(house: House) -> House:
    factories.make_node(house.cluster, "g1", total={"cpu": 64, "gpu": 8, "gpu:a100": 8, "mem": 512000})
    house.x.revision = PolicyRevision.objects.create(
        partition=house.x,
        number=2,
        document=factories.policy_document("x", **LIMITS),
        enforcement="shadow",
        author="ada",
    )
    house.x.save()
    return house


def cells(page: str) -> dict[str, str]:
    """What stands in the cells of the matrix, by the name of the field; empty ones left out."""
    return {
        name: value
        for tag in re.findall(r'<input type="number"[^>]*>', page)
        for name, value in re.findall(r'name="(quota[^"]+)" value="([^"]*)"', tag)
    }


def sent(page: str, **changes: Any) -> dict[str, Any]:
    """The page's form as a browser would send it, with changes."""
    return {**cells(page), "over_quota": "hold", "based_on": "2", "reason": "Agreed", **changes}


def test_the_matrix_shows_every_limit_and_what_could_be_limited(limited: House, ada: Client) -> None:
    page = ada.get(AT).content.decode()
    assert cells(page) == {
        "quotas-0-": "1",
        "quota_totals-0-gpu": "8",
        "quota_amounts-1-gpu": "16",
        "quota_amounts-1-cpu": "128",
    }
    assert re.findall(r'<th scope="col">([\w:() ]+)</th>', page.partition("<tbody>")[0]) == [
        "Level", "jobs", "gpu", "gpu:a100", "cpu", "memory (MB)", "gpu", "gpu:a100", "cpu", "memory (MB)",
    ]  # fmt: skip
    assert 'aria-label="P1: gpu of each user"' in page
    assert 'aria-label="P0: gpu:a100 of all users together"' in page


def test_the_matrix_is_saved_with_reason_and_audit(limited: House, signed_in: SignedIn) -> None:
    dave = signed_in("dave")
    changed = sent(
        dave.get(AT).content.decode(),
        **{"quota_amounts-1-cpu": "", "quota_amounts-0-mem": "1024", "quotas-1-": "4"},
    )
    page = dave.post(AT, changed, follow=True).content.decode()
    assert "The quotas of x are in force." in page
    policy = policy_of(Partition.objects.get(pk=limited.x.pk))
    assert (policy.quotas, policy.over_quota) == ({"P0": 1, "P1": 4}, "hold")
    assert policy.quota_amounts == {"P0": {"mem": 1024}, "P1": {"gpu": 16}}
    assert policy.quota_totals == {"P0": {"gpu": 8}}
    assert policy.user_overrides == {"carol": "P0"}
    row = AuditEntry.objects.get(action="policy.activated", actor="dave")
    assert (row.reason, row.policy_revision) == ("Agreed", 3)
    steps = words_of(dave.get("/partitions/x/revisions/").content.decode())
    assert "quota of amounts P1, cpu" in steps


def test_what_was_read_too_long_ago_is_not_saved_in_any_way(limited: House, ada: Client) -> None:
    """Rows are levels by rank: of another revision they may be other levels."""
    page = ada.get(AT).content.decode()
    for how in ({}, {"save_draft": "1", "draft_name": "Old"}):
        answer = ada.post(AT, sent(page, based_on="1", **how)).content.decode()
        assert "by now" in sent_back(answer) or "changed" in words_of(answer)
    assert PolicyRevision.objects.filter(partition=limited.x).count() == 2
    assert not PolicyDraft.objects.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quotas-0-": "-1"}, "greater than or equal to 0"),
        ({"quota_amounts-1-gpu": "many"}, "Enter a whole number."),
        ({"reason": ""}, "Say why"),
        ({"over_quota": "shout"}, "Select a valid choice."),
    ],
)
def test_what_is_wrong_is_told_and_what_was_typed_stays(
    limited: House, ada: Client, changes: dict[str, str], message: str
) -> None:
    page = ada.get(AT).content.decode()
    answer = ada.post(AT, sent(page, **{"quota_totals-1-cpu": "77", **changes}), headers=part("quota-form"))
    assert answer.status_code == 422
    assert message in answer.content.decode()
    assert cells(answer.content.decode())["quota_totals-1-cpu"] == "77"
    assert policy_of(Partition.objects.get(pk=limited.x.pk)).quota_totals == LIMITS["quota_totals"]


def test_a_draft_of_quotas_keeps_all_of_them_through_the_policys_form(limited: House, ada: Client) -> None:
    """The policy's form has no cells for amounts; they go with the rows, also when a level gets another name."""
    page = ada.get(AT).content.decode()
    wanted = sent(page, save_draft="1", draft_name="Less", **{"quota_amounts-1-gpu": "4"})
    ada.post(AT, wanted)
    assert PolicyDraft.objects.get().document["quota_amounts"] == {"P1": {"gpu": 4, "cpu": 128}}
    form = ada.get(POLICY).content.decode()
    hidden = {
        name: value.replace("&quot;", '"')
        for name, value in re.findall(r'name="(levels-\d-(?:amounts|totals))" value="([^"]*)"', form)
    }
    changed = typed(based_on="2", levels__2__name="Second") | {
        "levels-0-totals": hidden["levels-0-totals"],
        "levels-2-amounts": hidden["levels-1-amounts"],
    }
    ada.post(POLICY, changed)
    policy = policy_of(Partition.objects.get(pk=limited.x.pk))
    assert policy.quota_amounts == {"Second": {"gpu": 16, "cpu": 128}}
    assert policy.quota_totals == {"P0": {"gpu": 8}}
    broken = ada.post(POLICY, changed | {"based_on": "3", "levels-0-totals": '{"gpu": -1}'})
    assert "must not be negative" in broken.content.decode().replace("Must", "must")


def test_a_draft_has_a_matrix_of_its_own(limited: House, ada: Client, signed_in: SignedIn) -> None:
    """Its levels and its limits, which may be others than those in force; saving it touches nothing else."""
    document = factories.policy_document(
        "x",
        levels=[{"name": "Top"}, {"name": "Rest"}],
        quotas={"Top": 2},
        user_overrides={},
        task_overrides={},
    )
    draft = PolicyDraft.objects.create(
        partition=limited.x, name="Other levels", document=document, based_on=2, authors=["ada"], reason="Why"
    )
    at = f"{AT}?of=draft-{draft.pk}"
    page = ada.get(at).content.decode()
    assert cells(page) == {"quotas-0-": "2"}
    assert "Top: jobs of each user" in page and "Use of" not in page and "Put in force" not in page
    assert f'hx-post="/partitions/x/quotas/what-if/?of=draft-{draft.pk}"' in page
    assert f'href="{at}"' in ada.get(f"/partitions/x/drafts/{draft.pk}/").content.decode()

    changed = sent(page, based_on="1", **{"quotas-0-": "5", "quota_totals-1-gpu": "4"})
    tried = ada.post(f"/partitions/x/quotas/what-if/?of=draft-{draft.pk}", changed | {"quotas-0-": "x"})
    assert "Top: jobs of each user: Enter a whole number." in words_of(tried.content.decode())
    told = ada.post(at, changed, follow=True).content.decode()
    assert "The draft is saved; nothing is in force." in told
    draft.refresh_from_db()
    assert (draft.document["quotas"], draft.document["quota_totals"]) == ({"Top": 5}, {"Rest": {"gpu": 4}})
    assert (draft.version, draft.name) == (2, "Other levels")
    assert policy_of(Partition.objects.get(pk=limited.x.pk)).quotas == LIMITS["quotas"]
    stale = ada.post(at, changed | {"quotas-0-": "9"}).content.decode()
    assert "changed" in words_of(stale) and cells(stale)["quotas-0-"] == "9"

    assert signed_in("otto").post(at, changed).status_code == 403
    for wrong in ("draft-99", "2", "force", "draft-0x1"):
        assert ada.get(AT, {"of": wrong}).status_code == 404, wrong
        assert ada.post(f"/partitions/x/quotas/what-if/?of={wrong}", changed).status_code == 404, wrong


def test_what_if_asks_about_the_matrix_and_saves_nothing(limited: House, ada: Client) -> None:
    page = ada.get(AT).content.decode()
    answer = ada.post("/partitions/x/quotas/what-if/", sent(page, **{"quotas-0-": "x"}, reason=""))
    assert "P0: jobs of each user: Enter a whole number." in words_of(answer.content.decode())
    back = ada.post(AT, sent(page, row="quotas:keep", **{"quotas-0-": "9"})).content.decode()
    assert cells(back)["quotas-0-"] == "9"
    assert PolicyRevision.objects.filter(partition=limited.x).count() == 2


def test_who_uses_how_much_now(
    limited: House, ada: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """Sorted by what is nearest to its limit; a user of nothing that is limited is not there."""
    for i, (user, level, alloc) in enumerate(
        [
            ("ann", 0, {"g1": {"cpu": 1, "gpu": 4}, "n1": {"cpu": 2, "gpu": 2}}),
            ("bob", 1, {"g1": {"cpu": 4, "gpu": 2}}),
            ("bob", 1, {"n1": {"cpu": 28}}),
            ("cy", None, {"n1": {"cpu": 28}}),
        ]
    ):
        factories.make_running_job(limited.cluster, str(800 + i), user=user, task_level=level, alloc=alloc)
    factories.make_running_job(limited.cluster, "900", user="dan", task_level=1, partition="y")
    x = Partition.objects.select_related("revision").get(name="x")
    with django_assert_num_queries(1):
        uses = all_uses(x, policy_of(x))
    assert [(use.user, use.limit.level, use.limit.resource, use.text, use.full) for use in uses] == [
        ("ann", "P0", "", "1 / 1", True),
        ("", "P0", "gpu", "6 / 8 gpu", False),
        ("bob", "P1", "cpu", "32 / 128 cpu", False),
        ("bob", "P1", "gpu", "2 / 16 gpu", False),
    ]
    page = ada.get(AT).content.decode()
    table = words_of(page[page.index('id="quota-use"') :])
    assert "all users together P0 gpu 6 / 8 gpu" in table
    found = ada.get(AT, {"user": "BO"}, headers=part("quota-use")).content.decode()
    assert "<html" not in found
    assert (found.count("<tr>"), "ann" in found) == (3, False)


def test_use_over_time_is_drawn_with_its_numbers_for_the_level_of_the_address(
    limited: House, ada: Client
) -> None:
    for ago in range(1, 3):
        QuotaMinute.objects.create(
            cluster=limited.cluster,
            partition="x",
            at=clock.now().replace(second=0, microsecond=0) - timedelta(minutes=ago),
            rank=1,
            uses={"quota_amounts": {"gpu": [16, 1, {"<b>ann": 16, "bob": 4}], "mem": [2048, 0, {}]}},
        )
    page = ada.get(AT, {"level": "P1", "user": "bo"}).content.decode()
    section = page[page.index('id="quota-times"') :]
    assert section.count('<figure class="plot"') == 2
    told = unescape(words_of(section))
    assert "gpu of each user at most 16 / 16 gpu (<b>ann); somebody had all of it for 2 min" in told
    assert "memory (MB) of each user nobody used any of it" in told
    assert "<b>ann gpu of each user 16 / 16 gpu 2 min bob gpu of each user 4 / 16 gpu –" in told
    assert "<b>" not in section
    assert re.search(r"100 % 16 / 16 gpu \(<b>ann\) \d min 0 % – –", told)
    assert 'href="?level=P0&amp;user=bo"' in section, "the rest of the address stays"
    assert "No quota of P0 is recorded for this time." in words_of(ada.get(AT).content.decode())
    fragment = ada.get(AT, {"level": "P1", "span": "7d"}, headers=part("quota-times")).content.decode()
    assert "<html" not in fragment
    assert (fragment.count("<figure"), fragment.count('aria-current="true"')) == (2, 2)
    assert "<figure" not in ada.get(AT, {"level": "nowhere"}, headers=part("quota-use")).content.decode()

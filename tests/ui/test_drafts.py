"""Drafts of a policy, comparing any two states of it, and putting a draft or an earlier revision in force."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from console.audit.models import AuditEntry
from console.partitions import drafts as service
from console.partitions import services
from console.partitions.drafts import Content
from console.partitions.models import Partition, PolicyDraft, PolicyRevision
from tests import factories
from tests.markup import words_of
from tests.ui.conftest import House, SignedIn
from tests.ui.test_policy_pages import AT, sent_back, typed

COMPARE, ACTIVATE, REVISIONS = (f"/partitions/x/{part}/" for part in ("compare", "activate", "revisions"))


def in_force(house: House) -> PolicyRevision:
    found = Partition.objects.get(pk=house.x.pk).revision
    assert found is not None
    return found


def make_draft(house: House, name: str = "Weekend", actor: str = "dave", **keys: Any) -> PolicyDraft:
    content = Content(name, factories.policy_document("x", **keys))
    return service.create_draft(actor=actor, partition=house.x, content=content, reason="Let us talk")


def activation(page: str) -> dict[str, str]:
    """What the form at the bottom of a comparison would send."""
    start = page.index(f'action="{ACTIVATE}"')
    form = page[start : page.index("</form>", start)]
    return dict(re.findall(r'<input type="hidden" name="(\w+)"(?: value="([^"]*)")?', form))


def test_a_policy_is_saved_as_a_draft_and_nothing_is_in_force(house: House, signed_in: SignedIn) -> None:
    dave = signed_in("dave")
    wanted = typed(grace_s="90", save_draft="1", draft_name="Longer grace", reason="Ann asked")
    page = dave.post(AT, wanted, follow=True).content.decode()
    draft = PolicyDraft.objects.get()
    assert (draft.name, draft.document["grace_s"], draft.authors, draft.based_on) == (
        "Longer grace",
        90,
        ["dave"],
        1,
    )
    assert "is not in force" in words_of(page)
    assert in_force(house).number == 1
    row = AuditEntry.objects.get(action="policy.draft_saved")
    assert (row.actor, row.reason, row.partition, row.object_label) == (
        "dave",
        "Ann asked",
        "x",
        "x: Longer grace",
    )


@pytest.mark.parametrize(("name", "message"), [("", "Give the draft a name."), ("Weekend", "already")])
def test_a_draft_has_a_name_of_its_own(name: str, message: str, house: House, ada: Client) -> None:
    make_draft(house)
    page = ada.post(AT, typed(grace_s="91", save_draft="1", draft_name=name)).content.decode()
    assert message in unescape(page)
    assert 'name="grace_s" value="91"' in page, "what was typed is kept"
    assert PolicyDraft.objects.count() == 1


def test_a_draft_that_makes_no_sense_is_not_kept(house: House, ada: Client) -> None:
    page = ada.post(AT, typed(levels__2__min_score="99", save_draft="1", draft_name="Odd")).content.decode()
    assert "Must be below 60" in page
    assert not PolicyDraft.objects.exists()


def test_several_people_write_a_draft(house: House, signed_in: SignedIn) -> None:
    draft = make_draft(house)
    at = f"/partitions/x/drafts/{draft.pk}/"
    for who, grace in (("ada", "70"), ("dave", "75")):
        browser = signed_in(who)
        form = sent_back(browser.get(at).content.decode())
        assert browser.post(at, form | {"grace_s": grace, "reason": "Better"}).status_code == 302
    draft.refresh_from_db()
    assert (draft.document["grace_s"], draft.authors, draft.version) == (75, ["dave", "ada"], 3)
    assert in_force(house).number == 1


def test_a_draft_sent_as_it_came_is_left_as_it_is(house: House, ada: Client) -> None:
    draft = make_draft(house, bands=[[0], [1, None]])
    at = f"/partitions/x/drafts/{draft.pk}/"
    ada.post(at, sent_back(ada.get(at).content.decode()) | {"reason": "As it came"})
    draft.refresh_from_db()
    assert draft.version == 1
    assert AuditEntry.objects.filter(action="policy.draft_saved").count() == 1


def test_two_authors_do_not_overwrite_each_other(house: House, signed_in: SignedIn) -> None:
    draft = make_draft(house)
    at = f"/partitions/x/drafts/{draft.pk}/"
    form = sent_back(signed_in("ada").get(at).content.decode())
    signed_in("dave").post(at, form | {"grace_s": "60", "reason": "First"})
    late = signed_in("ada").post(at, form | {"grace_s": "90", "reason": "Second"})
    assert "since you looked at it (you saw version" in late.content.decode()
    draft.refresh_from_db()
    assert draft.document["grace_s"] == 60


def test_rows_of_a_draft_are_rearranged_without_saving(house: House, ada: Client) -> None:
    draft = make_draft(house)
    at = f"/partitions/x/drafts/{draft.pk}/"
    form = sent_back(ada.get(at).content.decode())
    page = ada.post(at, form | {"row": "levels:down:0"}).content.decode()
    assert re.findall(r'name="levels-\d+-name" value="([^"]*)"', page) == ["P1", "P0"]
    draft.refresh_from_db()
    assert draft.version == 1


def test_a_comparison_says_in_words_and_side_by_side_what_differs(house: House, signed_in: SignedIn) -> None:
    draft = make_draft(
        house, mode="task", quotas={"P0": 1}, levels=[
            {"name": "P0", "min_score": 100, "keyword": "p0"}, {"name": "P1", "min_score": 20, "keyword": "p1"},
        ],
    )  # fmt: skip
    page = signed_in("otto").get(f"{COMPARE}?to=draft-{draft.pk}").content.decode()
    text = words_of(page)
    assert "mode: user, then task → task" in text
    assert "level P0, from score: 60 → 100" in text
    assert "quota P1: removed 3" in text
    rows = [words_of(row).strip() for row in re.findall(r"<tr[^>]*>(.*?)</tr>", page, re.DOTALL)]
    assert "level P0, from score differs 60 100" in rows
    assert "level P0, keyword p0 p0" in rows
    assert "quota P1 differs 3 none" in rows
    assert "grace, seconds 30 30" in rows
    assert "Put the draft in force" not in text, "an auditor changes nothing"


def test_any_two_revisions_are_compared(house: House, ada: Client) -> None:
    for number in (2, 3):
        factories.make_revision(house.x, number, grace_s=10 * number)
    text = words_of(ada.get(f"{COMPARE}?from=2&to=3").content.decode())
    assert "grace, seconds: 20 → 30" in text
    assert "Put in force" not in text, "only what was compared with what is in force can be put in force"


@pytest.mark.parametrize("to", ["99", "draft-99", "force'", "draft-", "-1", "1e9", "x" * 400])
def test_what_is_not_there_cannot_be_compared(to: str, house: House, ada: Client) -> None:
    assert ada.get(COMPARE, {"to": to}).status_code == 404


def test_another_partitions_draft_is_not_there(house: House, ada: Client) -> None:
    content = Content("Other", factories.policy_document("y"))
    other = service.create_draft(actor="ada", partition=house.y, content=content, reason="Test")
    assert ada.get(f"/partitions/x/drafts/{other.pk}/").status_code == 404
    assert ada.get(COMPARE, {"to": f"draft-{other.pk}"}).status_code == 404


def test_a_draft_is_put_in_force(house: House, signed_in: SignedIn) -> None:
    draft = make_draft(house, grace_s=75)
    dave = signed_in("dave")
    form = activation(dave.get(f"{COMPARE}?to=draft-{draft.pk}").content.decode())
    page = dave.post(ACTIVATE, form | {"reason": "Agreed on Friday"}, follow=True).content.decode()
    revision = in_force(house)
    assert (revision.number, revision.document["grace_s"], revision.author) == (2, 75, "dave")
    assert (revision.reason, revision.source) == ("Agreed on Friday", "draft Weekend")
    assert not PolicyDraft.objects.exists()
    assert "draft Weekend" in words_of(page)
    row = AuditEntry.objects.get(action="policy.activated", actor="dave")
    assert (row.object_label, row.policy_revision) == ("x: draft Weekend", 2)


def test_nobody_puts_a_draft_in_force_over_a_change_that_was_not_seen(
    house: House, signed_in: SignedIn
) -> None:
    draft = make_draft(house, grace_s=75)
    dave = signed_in("dave")
    form = activation(dave.get(f"{COMPARE}?to=draft-{draft.pk}").content.decode()) | {"reason": "Now"}
    services.activate_policy(
        actor="ada",
        partition=house.x,
        document=factories.policy_document("x", exempt_s=60),
        reason="x",
        based_on=1,
    )
    late = dave.post(ACTIVATE, form)
    assert "since you looked at it (you saw version" in late.content.decode()
    assert in_force(house).document["exempt_s"] == 60
    assert PolicyDraft.objects.filter(pk=draft.pk).exists(), "the draft is still there"
    again = dave.get(f"{COMPARE}?to=draft-{draft.pk}").content.decode()
    assert "what changed meanwhile is taken back" in words_of(again)


def test_nobody_puts_a_draft_in_force_that_was_changed_meanwhile(house: House, signed_in: SignedIn) -> None:
    draft = make_draft(house, grace_s=75)
    form = activation(signed_in("dave").get(f"{COMPARE}?to=draft-{draft.pk}").content.decode())
    content = Content("Weekend", factories.policy_document("x", grace_s=5))
    service.change_draft(actor="ada", draft=draft, content=content, reason="Shorter", version=1)
    late = signed_in("dave").post(ACTIVATE, form | {"reason": "Now"})
    assert "since you looked at it (you saw version" in late.content.decode()
    assert in_force(house).number == 1


def test_going_back_makes_a_new_revision(house: House, signed_in: SignedIn) -> None:
    services.activate_policy(
        actor="ada",
        partition=house.x,
        document=factories.policy_document("x", grace_s=99),
        reason="x",
        based_on=1,
    )
    dave = signed_in("dave")
    page = dave.get(f"{COMPARE}?to=1").content.decode()
    assert "Go back to revision 1" in words_of(page)
    dave.post(ACTIVATE, activation(page) | {"reason": "It did harm"})
    revision = in_force(house)
    assert (revision.number, revision.document["grace_s"], revision.source) == (3, 30, "back to revision 1")
    assert house.x.revisions.count() == 3
    assert AuditEntry.objects.filter(action="policy.activated", reason="It did harm").exists()
    dave.cookies["language"] = "zh-hans"
    page = dave.get("/partitions/x/revisions/").content.decode()
    assert "恢复到修订 1" in page and "back to revision" not in page


def test_a_reason_is_asked_for(house: House, ada: Client) -> None:
    draft = make_draft(house, grace_s=75)
    form = activation(ada.get(f"{COMPARE}?to=draft-{draft.pk}").content.decode())
    page = ada.post(ACTIVATE, form | {"reason": " "}).content.decode()
    assert "Say why; it stands in the audit log." in page
    assert in_force(house).number == 1


def test_a_draft_that_says_what_is_in_force_cannot_be_put_in_force(house: House, ada: Client) -> None:
    draft = make_draft(house)
    form = {"to": draft.key, "based_on": "1", "version": "1", "reason": "Why not"}
    page = ada.post(ACTIVATE, form).content.decode()
    assert "That is what is in force already" in page
    assert PolicyDraft.objects.filter(pk=draft.pk).exists()


def test_a_draft_that_enforces_needs_its_own_button(house: House, ada: Client) -> None:
    draft = make_draft(house, enforcement="enforce")
    page = ada.get(f"{COMPARE}?to=draft-{draft.pk}").content.decode()
    assert "From the next cycle on, Giveway stops running jobs of x" in page
    form = activation(page) | {"reason": "Live"}
    refused = ada.post(ACTIVATE, form).content.decode()
    assert "confirm that with its own button" in refused
    assert in_force(house).enforcement == "shadow"
    ada.post(ACTIVATE, form | {"confirmed": "enforce"})
    assert in_force(house).enforcement == "enforce"


def test_a_draft_is_deleted_with_a_reason(house: House, signed_in: SignedIn) -> None:
    draft = make_draft(house)
    at = f"/partitions/x/drafts/{draft.pk}/delete/"
    signed_in("ada").post(at, {"version": "1", "reason": ""})
    assert PolicyDraft.objects.exists()
    signed_in("ada").post(at, {"version": "7", "reason": "Old"})
    assert PolicyDraft.objects.exists(), "it was changed since"
    signed_in("ada").post(at, {"version": "1", "reason": "Old"})
    assert not PolicyDraft.objects.exists()
    assert AuditEntry.objects.get(action="policy.draft_deleted").reason == "Old"


def test_hostile_names_stay_text(house: House, ada: Client) -> None:
    draft = make_draft(house, name='"><script>alert(1)</script>')
    for at in (REVISIONS, f"{COMPARE}?to=draft-{draft.pk}", f"/partitions/x/drafts/{draft.pk}/"):
        assert "<script>alert" not in ada.get(at).content.decode()


def test_who_may_only_read_sees_a_draft_and_changes_nothing(house: House, signed_in: SignedIn) -> None:
    draft = make_draft(house)
    at = f"/partitions/x/drafts/{draft.pk}/"
    otto = signed_in("otto")
    page = otto.get(at).content.decode()
    assert "Save the draft" not in page and "Delete the draft" not in page
    form = sent_back(page) | {"grace_s": "1", "reason": "No"}
    assert [otto.post(at, form).status_code, otto.post(f"{at}delete/", {}).status_code] == [403, 403]
    assert {signed_in(who).get(at).status_code for who in ("vera", "pam")} == {404}
    draft.refresh_from_db()
    assert draft.version == 1

"""Two people, or two tabs, with one form: who comes second is told what the first one changed, and who that was."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from console.core.concurrent_changes import ChangedSinceError
from console.partitions.drafts import Content, change_draft, create_draft, delete_draft
from console.partitions.models import Partition, PolicyDraft
from console.partitions.selectors import policy_of
from console.partitions.services import activate_policy
from console.projects.models import Project
from console.projects.rule_changes import change_rules
from console.projects.rulebook import DEFAULT_SCHEDULE, Rules
from console.projects.services import delete_project
from scheduler.contracts.config import encode_policy
from tests.markup import words_of
from tests.ui.conftest import House
from tests.ui.test_project_pages import FORM, typed

pytestmark = pytest.mark.django_db


def test_a_project_that_was_changed_meanwhile(house: House, ada: Client) -> None:
    assert ada.post("/projects/alpha/", typed(urgency="5"), headers=FORM).status_code == 200
    late = words_of(ada.post("/projects/alpha/", typed(urgency="9"), headers=FORM).content.decode())
    assert (
        "The project alpha was changed by ada since you looked at it (you saw version 1, now it is 2): urgency: 3 → 5"
        in late
    )
    assert Project.objects.get(code="alpha").urgency == 5


def test_in_chinese(house: House, ada: Client) -> None:
    ada.post("/projects/alpha/", typed(urgency="5"), headers=FORM)
    ada.cookies["language"] = "zh-hans"
    late = words_of(ada.post("/projects/alpha/", typed(urgency="9"), headers=FORM).content.decode())
    assert "已被 ada 改动（您看到的是版本 1，现在是 2）：紧急程度：3 → 5" in late


def test_a_project_that_was_deleted_meanwhile(house: House) -> None:
    delete_project(actor="pam", project=house.alpha, reason="so", version=1)
    with pytest.raises(
        ChangedSinceError, match="The project alpha was deleted by pam since you looked at it"
    ):
        delete_project(actor="ada", project=house.alpha, reason="so", version=1)


def put_in_force(partition: Partition, actor: str, based_on: int, **changes: Any) -> None:
    document = encode_policy(policy_of(Partition.objects.select_related("revision").get(pk=partition.pk)))
    activate_policy(
        actor=actor, partition=partition, document=document | changes, reason="so", based_on=based_on
    )


def test_a_policy_that_two_others_have_changed(house: House) -> None:
    put_in_force(house.x, "dave", 1, exempt_s=60)
    put_in_force(house.x, "ada", 2, grace_s=7)
    with pytest.raises(ChangedSinceError) as late:
        put_in_force(house.x, "cy", 1, exempt_s=90)
    assert "was changed by dave and ada since" in str(late.value)
    assert "exempt_s: 0 → 60; grace_s: " in str(late.value)
    assert "left alone at first, seconds: 0 → 60; grace, seconds: " in late.value.for_people


def test_a_draft_and_the_rules(house: House) -> None:
    other = encode_policy(policy_of(house.x)) | {"exempt_s": 60}
    by = {"actor": "dave", "reason": "so"}
    draft = create_draft(partition=house.x, content=Content("summer", policy_of(house.x)), **by)
    old = PolicyDraft.objects.get(pk=draft.pk)
    change_draft(draft=draft, content=Content("summer", other), version=1, **by)
    with pytest.raises(ChangedSinceError, match=r"changed by dave since .*exempt_s: 0 → 60"):
        delete_draft(draft=old, actor="ada", reason="so", version=1)
    delete_draft(draft=old, version=2, **by)
    with pytest.raises(ChangedSinceError, match="The draft summer was deleted by dave since"):
        delete_draft(draft=old, actor="ada", reason="so", version=2)
    change_rules(rules=Rules(replace(DEFAULT_SCHEDULE, hold_days=9)), version=1, **by)
    with pytest.raises(ChangedSinceError, match=r"changed by dave since .*hold_days: "):
        change_rules(rules=Rules(replace(DEFAULT_SCHEDULE, hold_days=5)), version=1, actor="ada", reason="so")


def test_of_what_cannot_be_known_nothing_is_said(house: House) -> None:
    with pytest.raises(ChangedSinceError, match="was changed since you looked at it"):
        put_in_force(house.x, "cy", 99, exempt_s=90)

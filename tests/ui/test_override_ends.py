"""Overrides with an end: they count until then, are seen to have ended, and go through file and form unchanged."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from django.test import Client

from console.partitions.models import Partition
from console.partitions.priority_file import export_config, import_config
from console.partitions.selectors import policy_of
from console.partitions.services import activate_policy
from console.steering.submit_rules import partition_lines
from scheduler.model.observation import ObservedPartition
from scheduler.reconcile.build import snapshot_for
from scheduler.reconcile.eligible import why_spared
from tests import factories
from tests.builders import observation, observed
from tests.markup import words_of
from tests.scheduler.reconcile.test_eligible import LOW, POLICY, URGENT
from tests.ui.conftest import House
from tests.ui.test_policy_pages import AT, sent_back

END = "2026-12-01T18:00:30Z"
SECONDS = 1796148030


def with_ends(house: House, users: str = END, tasks: str = END) -> Partition:
    document = factories.policy_document(
        "x", user_overrides_until={"carol": users}, task_overrides_until={"release_*": tasks}
    )
    activate_policy(actor="ada", partition=house.x, document=document, reason="For a while", based_on=None)
    return Partition.objects.get(pk=house.x.pk)


@pytest.fixture
def at_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.core.clock.now", lambda: datetime(2026, 12, 1, 20, tzinfo=UTC))


def test_the_cycle_that_sees_the_cluster_after_the_end_plans_without_it() -> None:
    policy = replace(POLICY, user_overrides={"ann": "P0"}, user_overrides_until={"ann": 2000})
    job = observed("7", user="ann", name="work")
    partition = ObservedPartition("x")
    levels = []
    for now in (1999, 2000):
        seen = replace(observation([job]), taken_at=now, partitions=(partition,))
        built = snapshot_for(seen, policy, (), preemptions={})
        levels.append((built.snapshot.jobs[0].user_level, built.standings["7"].user_origin))
    assert levels == [
        (0, "override by the partition until 1970-01-01 00:33 UTC"),
        (None, "nothing configured; the override to P0 ended 1970-01-01 00:33 UTC"),
    ]


def test_looking_again_before_a_stop_heeds_the_end_too() -> None:
    policy = replace(POLICY, task_overrides={"p2_train": "P0"}, task_overrides_until={"p2_train": 2000})
    asked: dict[str, Any] = {"beneficiary": URGENT.id, "victims": frozenset({LOW.run}), "preemptions": {}}
    said = []
    for now in (1999, 2000):
        seen = replace(observation([URGENT, LOW]), taken_at=now, partitions=(ObservedPartition("x"),))
        said.append(why_spared(seen, policy, (), **asked))
    assert said == ["1 no longer ranks below 9.", ""]


def test_submissions_are_checked_by_what_counts_now() -> None:
    policy = replace(POLICY, task_overrides={"p2_*": "P0"}, task_overrides_until={"p2_*": 2000})
    words = [" ".join(partition_lines(policy.at(now), [])) for now in (1999, 2000)]
    assert ["override p2_*" in each for each in words] == [True, False]


def test_importing_an_export_changes_nothing(house: House) -> None:
    before = with_ends(house)
    document = export_config(house.cluster)
    assert document["partitions"][0]["user_overrides_until"] == {"carol": END}
    import_config(actor="ada", cluster=house.cluster, document=document, reason="Same", dry_run=False)
    assert Partition.objects.get(pk=house.x.pk).revision == before.revision


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai"])
def test_the_form_sends_an_end_back_as_it_is(zone: str, house: House, ada: Client, settings: Any) -> None:
    settings.TIME_ZONE = zone
    before = with_ends(house)
    page = ada.get(AT).content.decode()
    local = {"UTC": "2026-12-01T18:00:30", "Asia/Shanghai": "2026-12-02T02:00:30"}[zone]
    assert page.count(f'value="{local}"') == 2
    ada.post(AT, sent_back(page) | {"reason": "As it came"})
    assert Partition.objects.get(pk=house.x.pk).revision == before.revision


def test_an_end_is_set_and_taken_away_on_the_page(house: House, ada: Client) -> None:
    form = sent_back(ada.get(AT).content.decode())
    ada.post(AT, form | {"users-0-until": "2026-12-01T18:00", "reason": "For a while"})
    partition = Partition.objects.get(pk=house.x.pk)
    assert policy_of(partition).user_overrides_until == {"carol": SECONDS - 30}
    assert policy_of(partition).task_overrides_until == {}
    text = words_of(ada.get("/partitions/x/revisions/").content.decode())
    assert 'end of the user override carol: added "2026-12-01T18:00:00Z"' in unescape(text)
    form = sent_back(ada.get(AT).content.decode())
    ada.post(AT, form | {"users-0-until": "", "reason": "For good"})
    assert policy_of(Partition.objects.get(pk=house.x.pk)).user_overrides_until == {}


def test_what_is_no_moment_is_said_beside_its_field(house: House, ada: Client) -> None:
    form = sent_back(ada.get(AT).content.decode())
    page = ada.post(AT, form | {"tasks-0-until": "soon", "reason": "For a while"}).content.decode()
    after = page[page.index('name="tasks-0-until"') :]
    assert "Enter a valid date/time." in after[:600]


@pytest.mark.usefixtures("at_end")
def test_the_page_says_what_has_ended(house: House, ada: Client) -> None:
    with_ends(house, tasks="2027-01-01T00:00:00Z")
    page = ada.get(AT).content.decode()
    rows = [words_of(row) for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL) if "-until" in row]
    assert ["counts no more, ended 1 h 59 min ago" in row for row in rows] == [True, False]

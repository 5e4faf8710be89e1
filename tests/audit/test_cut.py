"""A change of thousands of names: pages show its beginning and say how much more there is."""

from typing import Any

import pytest
from django.test import Client
from django.utils.translation import override

from console.audit.models import AuditEntry
from console.audit.selectors import entry_differences, first_differences
from console.core.templatetags.cut import LISTED, NAMES
from console.core.templatetags.words import json_words
from console.partitions.models import Partition
from console.partitions.services import activate_policy
from console.projects.models import Project
from console.projects.services import ProjectData, change_project, create_project
from scheduler.contracts.config import decode_policy
from tests import factories

MANY = LISTED + 30


@pytest.fixture
def ada(db: None) -> Client:
    client = Client()
    client.force_login(factories.make_administrator())
    return client


@pytest.fixture
def project(ada: Client) -> Project:
    """alpha, whose members were all exchanged."""
    told: dict[str, Any] = {"actor": "ada", "reason": "Test."}
    data = ProjectData("alpha", "Alpha", 1, 1, 1, members=tuple(f"old{n:03}" for n in range(MANY)))
    made = create_project(cluster=factories.make_cluster(), data=data, **told)
    new = ProjectData("alpha", "Alpha", 1, 1, 1, members=tuple(f"new{n:03}" for n in range(MANY)))
    return change_project(project=made, data=new, version=1, **told)


def test_a_rows_cut_is_the_beginning_of_what_it_changed(project: Project) -> None:
    row = AuditEntry.objects.get(action="project.changed")
    whole = entry_differences(row)
    assert len(whole) == 2 * MANY
    cut = first_differences(row, 7)
    assert (list(cut.shown), cut.more) == (whole[:7], 2 * MANY - 7)
    assert first_differences(AuditEntry.objects.get(pk=row.pk), 7) is cut, "a row never changes"
    assert first_differences(row, 8) is not cut
    with override("zh-hans"):
        assert first_differences(row, 7) is not cut, "an import is told in the reader's language"


def test_the_history_of_a_project_is_cut(ada: Client, project: Project) -> None:
    page = ada.get("/projects/alpha/history/").content.decode()
    assert "<del>old049</del>" in page and "<del>old050</del>" not in page and "<ins>new" not in page
    assert f"and {2 * MANY - LISTED} more" in page
    assert "old050" not in page and f"and {MANY - LISTED} more" in page, (
        "what it was made with is cut as well"
    )


def test_the_whole_history_of_a_project_is_cut(ada: Client, project: Project) -> None:
    page = ada.get("/history/projects/alpha/").content.decode()
    assert "<del>old049</del>" in page and "old050" not in page
    assert f"and {2 * MANY - LISTED} more" in page


def test_earlier_revisions_of_a_policy_are_cut(ada: Client) -> None:
    partition: Partition = factories.make_partition(factories.make_cluster())
    overrides = {f"user{n:03}": "P0" for n in range(MANY)}
    policy = factories.policy_document(user_overrides=overrides)
    activate_policy(
        actor="ada", partition=partition, document=decode_policy(policy), reason="Test.", based_on=1
    )
    page = ada.get("/partitions/x/revisions/").content.decode()
    assert "user010" in page and f"user{MANY - 1:03}" not in page
    assert "more</li>" in page


def test_the_list_of_projects_names_a_few_people(ada: Client, project: Project) -> None:
    page = ada.get("/projects/").content.decode()
    assert "new019" in page and "new020" not in page and f"and {MANY - NAMES} more" in page


@pytest.mark.parametrize(("count", "end"), [(LISTED, "n49"), (LISTED + 1, "n49 and 1 more")])
def test_a_value_that_is_a_long_list_is_cut(count: int, end: str) -> None:
    assert json_words([f"n{n}" for n in range(count)], "members").endswith(end)

"""The table of bounds: what is documented, what the database holds, what is said."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model

from console.accounts.models import ApiToken, User
from console.audit.models import SavedSearch
from console.core.limits import (
    LIMITS,
    PROJECT,
    beyond,
    beyond_in,
    most,
    no_room,
    pattern_fault,
    rows_of,
    variable,
)
from console.partitions.models import Partition, PolicyDraft
from console.projects.models import Membership, Project, TaskPattern
from console.settings.env import number
from tests.test_project.repository import ROOT

ROW = re.compile(r"^\| ([\d,]+) \| (.+) \| (?:`(\w+)`)? ?\|$", re.MULTILINE)


def test_the_documented_table_is_the_one_in_code() -> None:
    told = ROW.findall(Path(ROOT / "docs" / "limits.md").read_text())
    wanted = [
        (f"{limit.default:,}", limit.of, "" if limit.fixed else variable(name))
        for name, limit in LIMITS.items()
    ]
    assert told == wanted


@pytest.mark.parametrize(
    ("name", "model", "column"),
    [
        ("pattern", TaskPattern, "pattern"),
        ("user_name", Membership, "username"),
        ("user_name", User, "username"),
        ("project_name", Project, "name"),
        ("code", Project, "code"),
        ("code", Project, "slurm_account"),
        ("code", Partition, "name"),
        ("level", TaskPattern, "level"),
        ("draft_name", PolicyDraft, "name"),
        ("token_name", ApiToken, "name"),
        ("token_name", SavedSearch, "name"),
    ],
)
def test_a_fixed_bound_is_the_column_s(name: str, model: type[Model], column: str) -> None:
    assert LIMITS[name].fixed
    field: Any = model._meta.get_field(column)
    assert field.max_length == most(name)


@pytest.mark.parametrize("name", [name for name, limit in LIMITS.items() if limit.said])
def test_every_sentence_names_the_bound_and_what_was_sent(name: str) -> None:
    said = beyond(name, most(name) + 1, "some text")
    assert str(most(name)) in said
    assert str(most(name) + 1) in said
    assert beyond(name, most(name)) == ""


def test_the_environment_sets_a_bound(settings: Any) -> None:
    settings.GIVEWAY_LIMITS = {**settings.GIVEWAY_LIMITS, "members": 7}
    assert beyond("members", 8).startswith("8 members are too many, at most 7")
    assert no_room("drafts", most("drafts") - 1) == ""
    assert "at most 50" in no_room("drafts", most("drafts"))


def test_a_bound_below_one_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable("members"), "0")
    with pytest.raises(ImproperlyConfigured, match="GIVEWAY_MOST_MEMBERS"):
        number(variable("members"), 1, 1)


@pytest.mark.parametrize("pattern", ["a" * 200, "*?[a]*?[b]*?", "plain"])
def test_a_pattern_within_its_bounds(pattern: str) -> None:
    assert pattern_fault(pattern) == ""


def test_a_pattern_beyond_its_bounds() -> None:
    assert "201 characters" in pattern_fault("a" * 201)
    assert "9 wildcards" in pattern_fault("*" * 9)


def test_only_lists_are_measured_whatever_else_was_sent() -> None:
    assert list(beyond_in([], PROJECT)) == []
    assert list(beyond_in({"members": "x" * 10**6, "tasks": None}, PROJECT)) == []
    assert [key for key, _said in beyond_in({"members": [""] * 5001}, PROJECT)] == ["members"]


def test_rows_of_a_file_are_counted_whatever_it_is() -> None:
    assert rows_of(None) == rows_of({"projects": 3}) == rows_of({"projects": [None]}) == 0
    file = {
        "projects": [{"members": ["a", "b"], "tasks": [{}]}, {"members": 7}],
        "partitions": [{"levels": [{}], "user_overrides": {"a": "P0"}, "mode": "user"}],
    }
    assert rows_of(file) == 4 + 1 + 3

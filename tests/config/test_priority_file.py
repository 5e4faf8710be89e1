"""The priority file in and out: all or nothing, told in words, and an export imported again changes nothing."""

import copy
import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import DjangoAssertNumQueries

from console.audit.models import AuditEntry
from console.audit.services import SYSTEM, verify_chain
from console.cluster.models import Cluster
from console.partitions.models import Partition, PolicyRevision
from console.partitions.priority_file import (
    LISTED_AT_MOST,
    ImportResult,
    attached_cluster,
    diff_config,
    export_config,
    import_config,
)
from console.projects.models import Project
from scheduler.contracts.errors import InputError
from scheduler.contracts.policy import POLICY_KEYS
from tests import factories
from tests.factories import policy_document

pytestmark = pytest.mark.django_db

ALPHA = {
    "code": "alpha",
    "name": "Alpha",
    "size": 40,
    "grade": 1,
    "urgency": 3,
    "slurm_account": "alpha",
    "managers": ["pam"],
    "members": ["ann", "bob"],
    "tasks": [{"pattern": "alpha_eval*", "importance": 2}],
}
FILE: dict[str, Any] = {
    "schema": "giveway.config/1",
    "cluster": "dev",
    "projects": [ALPHA, {"code": "beta", "size": 10, "grade": 2, "urgency": 1}],
    "partitions": [{**policy_document("x"), "admins": ["dave"]}],
}


@pytest.fixture
def cluster() -> Cluster:
    return factories.make_cluster()


def load(
    cluster: Cluster, document: object = FILE, *, dry_run: bool = False, actor: str = "ada"
) -> ImportResult:
    return import_config(
        actor=actor, cluster=cluster, document=document, reason="Imported.", dry_run=dry_run, request_id="r1"
    )


def changed(*path: str | int, to: Any) -> dict[str, Any]:
    """The file with one value replaced (or added)."""
    document = copy.deepcopy(FILE)
    *way, last = path
    place: Any = document
    for step in way:
        place = place[step]
    place[last] = to
    return document


def state() -> tuple[Any, ...]:
    """Everything that an import may touch."""
    return (
        [export_config(cluster) for cluster in Cluster.objects.order_by("pk")],
        list(PolicyRevision.objects.order_by("pk").values()),
        list(Project.objects.order_by("pk").values()),
        list(AuditEntry.objects.order_by("pk").values()),
    )


def told(result: ImportResult) -> list[str]:
    return [str(difference) for difference in result.differences]


# --- In and out -------------------------------------------------------------------------------------------


def test_an_empty_cluster_becomes_what_the_file_says(cluster: Cluster) -> None:
    result = load(cluster)
    assert [difference.path for difference in result.differences] == [
        "projects.alpha", "projects.beta", "partitions.x",
    ]  # fmt: skip
    exported = export_config(cluster)
    assert exported["projects"][0] == ALPHA
    assert exported["projects"][1] == {
        "code": "beta",
        "name": "beta",
        "size": 10,
        "grade": 2,
        "urgency": 1,
        "slurm_account": "",
        "managers": [],
        "members": [],
        "tasks": [],
    }
    assert {**exported["partitions"][0], **FILE["partitions"][0]} == exported["partitions"][0]


def test_importing_an_export_changes_nothing_and_writes_nothing(cluster: Cluster) -> None:
    load(cluster)
    before = state()
    result = load(cluster, json.loads(json.dumps(export_config(cluster))))
    assert not result.changes
    assert state() == before


def test_a_deadline_comes_in_goes_out_and_goes_away_with_its_keys(cluster: Cluster) -> None:
    load(cluster)
    document = changed("projects", 0, to={**ALPHA, "urgency_by": "deadline", "deadline": "2026-12-31"})
    assert told(load(cluster, document)) == [
        "projects.alpha.urgency_by: added deadline",
        'projects.alpha.deadline: added "2026-12-31"',
    ]
    assert export_config(cluster)["projects"][0] == document["projects"][0]
    assert not load(cluster, json.loads(json.dumps(export_config(cluster)))).changes
    assert len(told(load(cluster))) == 2, "a key that is left out takes its default"
    assert export_config(cluster)["projects"][0] == ALPHA


def test_a_file_in_another_order_changes_nothing(cluster: Cluster) -> None:
    load(cluster)
    before = state()
    document = copy.deepcopy(FILE)
    document["projects"].reverse()
    document["projects"][1]["members"].reverse()
    document["partitions"][0] = dict(reversed(document["partitions"][0].items()))
    assert told(load(cluster, document)) == []
    assert state() == before


def test_what_changed_is_told_key_by_key(cluster: Cluster) -> None:
    load(cluster)
    document = changed("projects", 0, "urgency", to=5)
    document["projects"][0]["members"] = ["ann", "cy"]
    document["projects"][0]["tasks"].append({"pattern": "alpha_*", "importance": 0.5})
    document["partitions"][0]["levels"][1]["min_score"] = 15
    document["partitions"][0]["user_overrides"] = {"carol": "P1"}
    document["partitions"][0]["admins"] = []
    result = load(cluster, document)
    assert told(result) == [
        "projects.alpha.urgency: 3 → 5",
        "projects.alpha.members: removed bob",
        "projects.alpha.members: added cy",
        'projects.alpha.tasks.alpha_*: added {"pattern": "alpha_*", "importance": 0.5}',
        "partitions.x.levels.P1.min_score: 20 → 15",
        "partitions.x.user_overrides.carol: P0 → P1",
        "partitions.x.admins: removed dave",
    ]
    assert diff_config(cluster, document) == []


def test_what_the_file_does_not_name_is_left_alone_and_told(cluster: Cluster) -> None:
    load(cluster)
    factories.make_partition(cluster, "y")
    before = export_config(cluster)
    small = {
        "schema": "giveway.config/1",
        "cluster": "dev",
        "projects": [{**ALPHA, "urgency": 9}],
        "partitions": [],
    }
    result = load(cluster, small)
    assert (result.projects_left, result.partitions_left) == (["beta"], ["x", "y"])
    after = export_config(cluster)
    assert after["projects"][0]["urgency"] == 9
    assert (after["projects"][1], after["partitions"]) == (before["projects"][1], before["partitions"])


def test_a_key_that_an_entry_leaves_out_takes_its_default(cluster: Cluster) -> None:
    load(cluster)
    document = copy.deepcopy(FILE)
    document["partitions"] = [{"name": "x", "mode": "task"}]
    load(cluster, document)
    entry = export_config(cluster)["partitions"][0]
    assert (entry["mode"], entry["levels"], entry["admins"], entry["enforcement"]) == (
        "task",
        [],
        [],
        "shadow",
    )


def test_one_partition_is_exported_without_projects_and_can_be_imported(cluster: Cluster) -> None:
    load(cluster)
    factories.make_partition(cluster, "y")
    exported = export_config(cluster, Partition.objects.get(name="x"))
    assert (exported["projects"], [entry["name"] for entry in exported["partitions"]]) == ([], ["x"])
    before = state()
    assert not load(cluster, exported).changes
    assert state() == before


def test_clusters_do_not_see_each_other(cluster: Cluster) -> None:
    load(cluster)
    prod = factories.make_cluster("prod")
    assert export_config(prod)["projects"] == export_config(prod)["partitions"] == []
    load(prod, {**FILE, "cluster": "prod"})
    assert export_config(prod) == {**export_config(cluster), "cluster": "prod"}


def test_queries_do_not_grow_with_the_number_of_entries(
    cluster: Cluster, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(15):
        factories.make_member(factories.make_project(cluster, f"p{number}"))
        factories.make_partition_admin(factories.make_partition(cluster, f"x{number}"))
    with django_assert_max_num_queries(5):
        document = export_config(cluster)
    assert len(document["projects"]) == len(document["partitions"]) == 15
    with django_assert_max_num_queries(10):
        diff_config(cluster, document)


# --- The log ----------------------------------------------------------------------------------------------


def test_every_change_and_the_import_itself_are_in_the_log(cluster: Cluster) -> None:
    load(cluster)
    rows = list(
        AuditEntry.objects.order_by("sequence").values_list("action", "actor", "reason", "request_id")
    )
    assert rows == [
        ("project.created", "ada", "Imported.", "r1"),
        ("project.created", "ada", "Imported.", "r1"),
        ("partition.created", SYSTEM, "", ""),
        ("policy.activated", "ada", "Imported.", "r1"),
        ("partition.admins_changed", "ada", "Imported.", "r1"),
        ("config.imported", "ada", "Imported.", "r1"),
    ]
    entry = AuditEntry.objects.first()
    assert entry is not None and entry.after is not None
    assert [line.split(":")[0] for line in entry.after["changes"]] == [
        "projects.alpha", "projects.beta", "partitions.x",
    ]  # fmt: skip
    assert verify_chain().faults == []


def test_a_huge_import_lists_the_beginning(cluster: Cluster, settings: Any) -> None:
    settings.GIVEWAY_LIMITS = {**settings.GIVEWAY_LIMITS, "overrides": 2000}
    users = {f"user{number:04}": "P0" for number in range(LISTED_AT_MOST + 50)}
    load(cluster, changed("partitions", 0, "user_overrides", to=users))
    load(cluster)
    entry = AuditEntry.objects.first()
    assert entry is not None and entry.after is not None
    assert len(entry.after["changes"]) == LISTED_AT_MOST + 1
    assert entry.after["changes"][-1] == "and 51 more, not listed"


# --- Dry runs and faults ----------------------------------------------------------------------------------


def test_a_dry_run_tells_the_same_and_changes_nothing(cluster: Cluster) -> None:
    empty = state()
    trial = load(cluster, dry_run=True)
    assert trial.dry_run and state() == empty
    assert not Partition.objects.exists()
    assert trial.differences == load(cluster).differences
    before = state()
    document = changed("projects", 0, "urgency", to=5)
    trial = load(cluster, document, dry_run=True)
    assert told(trial) == ["projects.alpha.urgency: 3 → 5"]
    assert state() == before
    assert load(cluster, document).differences == trial.differences


FAULTS: list[tuple[dict[str, Any], str, str]] = [
    (changed("schema", to="giveway.config/2"), "$.schema", "giveway.config/1"),
    (changed("cluster", to="prod"), "$.cluster", 'is "prod"; this is "dev"'),
    (changed("notes", to=""), "$.notes", "unknown key"),
    (changed("projects", to={}), "$.projects", "must be a list"),
    (changed("projects", 1, "size", to=-1), "$.projects[1].size", "negative"),
    (changed("projects", 1, "urgency", to="high"), "$.projects[1].urgency", "must be a number"),
    (changed("projects", 1, "code", to="alpha"), "$.projects[1].code", "stands twice"),
    (changed("projects", 1, "code", to="be ta"), "$.projects[1].code", "Letters, digits"),
    (changed("projects", 1, "name", to="x" * 201), "$.projects[1].name", "200"),
    (changed("projects", 1, "members", to=["a b"]), "$.projects[1].members", "no user name"),
    (
        changed("projects", 1, "tasks", to=[{"pattern": "b*", "level": "P9"}]),
        "$.projects[1].tasks[0].level",
        '"P9"',
    ),
    (changed("partitions", 0, "mode", to="fair"), "$.partitions[0].mode", "is not one of"),
    (changed("partitions", 0, "quotas", to={"P9": 1}), "$.partitions[0].quotas.P9", "is no level"),
    (changed("partitions", 0, "exempt_s", to=10**12), "$.partitions[0].exempt_s", "a year"),
    (changed("partitions", 0, "name", to="x" * 65), "$.partitions[0].name", "64"),
    (changed("partitions", 0, "admins", to=["da ve"]), "$.partitions[0].admins", "no user name"),
]


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(("document", "path", "message"), FAULTS, ids=[path for _, path, _ in FAULTS])
def test_a_fault_names_its_place_and_nothing_is_changed(
    document: dict[str, Any], path: str, message: str, dry_run: bool, cluster: Cluster
) -> None:
    # What comes before the fault in the file would be a change.
    if isinstance(document["projects"], list):
        document["projects"][0]["urgency"] = 99
    before = state()
    with pytest.raises(InputError) as error:
        load(cluster, document, dry_run=dry_run)
    assert error.value.path == path
    assert message in error.value.message
    assert "\n" not in str(error.value)
    assert state() == before


@pytest.mark.parametrize("document", [None, [], "x", 1, {}, {"cluster": 7}])
def test_what_is_no_priority_file_is_refused(document: object, cluster: Cluster) -> None:
    with pytest.raises(InputError):
        attached_cluster(document)
    with pytest.raises(InputError):
        load(cluster, document)


def test_a_cluster_that_is_not_attached_is_named_with_those_that_are(cluster: Cluster) -> None:
    factories.make_cluster("prod")
    assert attached_cluster(FILE) == cluster
    with pytest.raises(InputError, match='there is no cluster "far" here; attached: dev, prod'):
        attached_cluster({**FILE, "cluster": "far"})


def test_a_pattern_may_name_a_level_of_a_partition_outside_the_file(cluster: Cluster) -> None:
    factories.make_partition(cluster, "x")
    document = changed("projects", 1, "tasks", to=[{"pattern": "b*", "level": "P1"}])
    document["partitions"] = []
    load(cluster, document)
    # The partition loses that level: the export still imports, and says the same.
    load(cluster, {**document, "projects": [], "partitions": [{"name": "x", "mode": "user"}]})
    before = state()
    assert not load(cluster, export_config(cluster)).changes
    assert state() == before


def test_every_key_of_a_partition_is_documented_with_its_default() -> None:
    text = (Path(__file__).parents[2] / "docs" / "priority-file.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    documented = {key for row in rows for key in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert documented == {*POLICY_KEYS} - {"name"}
    assert all(row.count("|") == 4 for row in rows)


# --- Any configuration ------------------------------------------------------------------------------------

Entries = st.SearchStrategy[list[dict[str, Any]]]
NAMES = st.sampled_from(["ann", "bob", "cy", "dee"])
NUMBERS = st.integers(1, 1000) | st.floats(0.001, 1000, allow_nan=False)
LEVELS = ["P0", "P1", "P2"]
PROJECTS: Entries = st.lists(
    st.fixed_dictionaries(
        {
            "code": st.sampled_from(["alpha", "beta", "g.1"]),
            "size": NUMBERS,
            "grade": NUMBERS,
            "urgency": NUMBERS,
        },
        optional={
            "name": st.text('aß–"{}', min_size=1, max_size=5),
            "urgency_by": st.just("hand"),
            "deadline": st.none() | st.dates(date(2000, 1, 1), date(2199, 12, 31)).map(str),
            "slurm_account": st.text("ab", max_size=3),
            "members": st.lists(NAMES, unique=True),
            "managers": st.lists(NAMES, unique=True),
            "tasks": st.lists(
                st.fixed_dictionaries(
                    {"pattern": st.sampled_from(["a*", "b?", "[c]"]), "importance": NUMBERS}
                ),
                unique_by=lambda task: str(task["pattern"]),
            ),
        },
    ),
    unique_by=lambda project: str(project["code"]),
)
PATTERNS = st.lists(st.text('a*?[!],"\\ é\n', min_size=1, max_size=5).filter(str.strip), unique=True)


def _level(rank: int, name: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"name": st.just(name), "min_score": st.just(60 - 20 * rank)},
        optional={"keyword": st.just(f"p{rank}"), "keyword_users": PATTERNS},
    )


PARTITIONS: Entries = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["x", "y", "z"]),
            "mode": st.sampled_from(["user", "task", "task_then_user"]),
        },
        optional={
            "enforcement": st.sampled_from(["shadow", "approve", "enforce"]),
            "admins": st.lists(NAMES, unique=True),
            "exempt_s": st.integers(0, 1000),
            "not_requeueable": st.sampled_from(["leave", "requeue", "cancel"]),
            "checkpoint_signal": st.sampled_from(["", "USR1", "TERM"]),
            "min_wait_s": st.integers(0, 1000),
            "cool_down_s": st.integers(0, 1000),
            "max_stops_per_hour": st.none() | st.integers(0, 100),
            "max_stops_per_user_hour": st.none() | st.integers(0, 100),
            "rest_s": st.integers(0, 1000),
            "max_stops_per_job_hour": st.none() | st.integers(0, 100),
            "max_crashes_per_hour": st.none() | st.integers(1, 100),
            **{f"protected_{what}": PATTERNS for what in ("jobs", "users", "accounts", "qos")},
            "keyword_denied": st.sampled_from(["demote", "refuse"]),
            "order": st.sampled_from(["levels", "slurm"]),
            "units": st.booleans(),
            "elastic": st.booleans(),
            "partial": st.sampled_from(["spare", "take"]),
            "give_back": st.sampled_from(["units", "whole"]),
            "regrow_s": st.integers(0, 1000),
            "patience_s": st.integers(0, 1000),
            "dispatch": st.sampled_from(["slurm", "managed"]),
            "task_types": st.lists(
                st.fixed_dictionaries(
                    {"pattern": st.sampled_from(["TRAIN*", "a", "b?", "[x]"])},
                    optional={key: st.integers(1, 1000) for key in ("cpus", "gpus", "memory_mb")},
                ).map(lambda row: {**row, "time_s": 60}),
                max_size=3,
                unique_by=lambda row: row["pattern"],
            ),
        },
    ).flatmap(
        lambda entry: st.fixed_dictionaries(
            {
                **{key: st.just(value) for key, value in entry.items()},
                "levels": st.tuples(*(_level(i, name) for i, name in enumerate(LEVELS))).map(list),
                "quotas": st.dictionaries(st.sampled_from(LEVELS), st.integers(0, 9)),
                "user_overrides": st.dictionaries(NAMES, st.sampled_from(LEVELS)),
                "bands": st.none() | st.just([[0, 1], [2, None]]),
            }
        )
    ),
    unique_by=lambda partition: str(partition["name"]),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(projects=PROJECTS, partitions=PARTITIONS)
def test_after_any_import_the_same_file_and_the_export_change_nothing(
    projects: list[Any], partitions: list[Any], cluster: Cluster
) -> None:
    document = {
        "schema": "giveway.config/1",
        "cluster": "dev",
        "projects": projects,
        "partitions": partitions,
    }
    load(cluster, document)
    before = state()
    assert told(load(cluster, document)) == []
    assert told(load(cluster, export_config(cluster))) == []
    assert state() == before

"""Contract B, the priority file: an import of an export changes nothing, a fault is named by its path."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.contracts.config import (
    BY_DEADLINE,
    BY_HAND,
    DEADLINES,
    Config,
    ConfigPartition,
    ConfigProject,
    decode_config,
    decode_partition,
    decode_policy,
    decode_project,
    encode_config,
    encode_partition,
    encode_policy,
    encode_project,
)
from scheduler.contracts.errors import InputError
from scheduler.model.policy import (
    Enforcement,
    LevelRule,
    Mode,
    NotRequeueable,
    OverQuota,
    PartitionPolicy,
    ProjectFacts,
    TaskRule,
    VictimOrder,
)
from tests.scheduler.contracts.documents import CONFIG, Change, changed, drop, put

PARTITION: dict[str, Any] = CONFIG["partitions"][0]
PROJECT: dict[str, Any] = CONFIG["projects"][0]


def test_the_contracts_example_is_read_as_it_is_meant() -> None:
    assert decode_config(CONFIG) == Config(
        cluster="dev",
        projects=(
            ConfigProject(
                ProjectFacts(
                    "alpha", 40, 1, 3, slurm_account="alpha", members=frozenset({"ann", "bob"}),
                    tasks=(TaskRule("alpha_eval*", 2),),
                ),
                name="Alpha",
                managers=("pam",),
            ),
        ),
        partitions=(
            ConfigPartition(
                PartitionPolicy(
                    "x",
                    levels=(LevelRule("P0", 60, "p0"), LevelRule("P1", 20, "p1")),
                    quotas={"P0": 1, "P1": 3},
                    user_overrides={"carol": "P0"},
                    task_overrides={"release_*": "P0"},
                ),
                admins=("dave",),
            ),
        ),
    )  # fmt: skip


def test_a_patterns_words_about_requests_and_workers_come_back_as_they_were() -> None:
    tasks = [
        {"pattern": "a*", "one_request": True},
        {"pattern": "b*", "importance": 2, "elastic_min": 2, "elastic_wish": 4},
        {"pattern": "c*", "level": "P0", "elastic_min": 2},
    ]
    entry = decode_project(PROJECT | {"tasks": tasks})
    assert entry.project.tasks[1] == TaskRule("b*", 2, elastic_min=2, elastic_wish=4)
    assert encode_project(entry)["tasks"] == tasks


def test_writing_what_was_read_gives_the_same_document() -> None:
    again = encode_config(decode_config(CONFIG))
    assert again["projects"] == CONFIG["projects"]
    assert again["partitions"][0] == PARTITION | {
        "quota_amounts": {},
        "quota_totals": {},
        "asked_to_save": "who_saves",
        "start_deadline_s": 120,
        "user_overrides_until": {},
        "task_overrides_until": {},
        "min_wait_s": 0,
        "cool_down_s": 300,
        "max_stops_per_hour": None,
        "max_stops_per_user_hour": None,
        "protected_jobs": [],
        "protected_users": [],
        "protected_accounts": [],
        "protected_qos": [],
        "keyword_denied": "demote",
        "order": "levels",
        "rest_s": 0,
        "max_stops_per_job_hour": None,
        "max_crashes_per_hour": None,
        "units": True,
        "elastic": True,
        "partial": "take",
        "give_back": "units",
        "regrow_s": 0,
        "patience_s": 0,
        "dispatch": "slurm",
        "balance": None,
        "task_types": [],
    }


def test_units_and_elastic_jobs_are_switched_off_and_back() -> None:
    keys = {"units": False, "elastic": False, "partial": "take", "give_back": "whole", "regrow_s": 600}
    policy = decode_policy({"name": "x", **keys})
    assert (policy.units, policy.elastic, policy.regrow_s) == (False, False, 600)
    assert {key: encode_policy(policy)[key] for key in keys} == keys
    for key, wrong in {
        "units": 1,
        "elastic": "yes",
        "partial": "all",
        "give_back": None,
        "regrow_s": -1,
    }.items():
        with pytest.raises(InputError, match=key):
            decode_policy({"name": "x", key: wrong})


def test_only_names_are_needed() -> None:
    assert decode_policy({"name": "x"}) == PartitionPolicy("x")
    least = decode_project({"code": "a", "size": 1, "grade": 1, "urgency": 1})
    assert least == ConfigProject(ProjectFacts("a", 1, 1, 1), name="a")
    empty = decode_config({"schema": "giveway.config/1", "cluster": "dev", "projects": [], "partitions": []})
    assert empty == Config("dev")


def test_a_new_partition_only_watches() -> None:
    assert decode_policy({"name": "x"}).enforcement is Enforcement.SHADOW


def test_a_policy_alone_has_no_admins() -> None:
    with pytest.raises(InputError, match="unknown key"):
        decode_policy(PARTITION)
    without = {key: value for key, value in PARTITION.items() if key != "admins"}
    assert decode_policy(without) == decode_partition(PARTITION).policy


def test_numbers_are_written_as_people_write_them() -> None:
    project = encode_project(ConfigProject(ProjectFacts("a", 40.0, 1.5, 3.0), "A"))
    assert (project["size"], project["grade"], project["urgency"]) == (40, 1.5, 3)
    assert json.dumps(project["size"]) == "40"


def test_a_pattern_may_have_a_level_an_importance_or_both() -> None:
    for task in ({"pattern": "a*", "level": "P0"}, {"pattern": "a*", "importance": 2},
                 {"pattern": "a*", "importance": 0.5, "level": "P1"}):  # fmt: skip
        project = decode_project({"code": "a", "size": 1, "grade": 1, "urgency": 1, "tasks": [task]})
        assert encode_project(project)["tasks"] == [task]


def test_the_path_begins_where_it_is_told_to() -> None:
    with pytest.raises(InputError) as caught:
        decode_policy({"name": "x", "grace_s": -1}, "$.policy")
    assert caught.value.path == "$.policy.grace_s"
    with pytest.raises(InputError) as caught:
        decode_project({"code": "a", "size": 0, "grade": 1, "urgency": 1}, "$.project")
    assert caught.value.path == "$.project.size"
    with pytest.raises(InputError) as caught:
        decode_partition({"name": "x", "admins": "dave"}, "$.p")
    assert caught.value.path == "$.p.admins"


P, Q = "partitions.0", "projects.0"
WRONG: Mapping[str, tuple[Change, str, str]] = {
    "another schema": (put("schema", "giveway.snapshot/1"), "$.schema", "giveway.config/1"),
    "no cluster": (drop("cluster"), "$.cluster", "is missing"),
    "no projects": (drop("projects"), "$.projects", "is missing"),
    "an unknown key": (put("partition", []), "$.partition", "did you mean partitions?"),
    "an unknown key of a project": (put(f"{Q}.urgence", 1), "$.projects[0].urgence", "did you mean urgency?"),
    "an unknown key of a policy": (put(f"{P}.exempt", 1), "$.partitions[0].exempt", "did you mean exempt_s?"),
    "a project twice": (
        lambda c: c["projects"].append(c["projects"][0]), "$.projects[1].code", 'the project "alpha" stands twice',
    ),
    "a partition twice": (
        lambda c: c["partitions"].append(c["partitions"][0]), "$.partitions[1].name", 'the partition "x" stands twice',
    ),
    "no code": (put(f"{Q}.code", ""), "$.projects[0].code", "must not be empty"),
    "size zero": (put(f"{Q}.size", 0), "$.projects[0].size", "must be above 0"),
    "a negative grade": (put(f"{Q}.grade", -1), "$.projects[0].grade", "must not be negative"),
    "urgency is a text": (put(f"{Q}.urgency", "high"), "$.projects[0].urgency", "must be a number"),
    "urgency is a boolean": (put(f"{Q}.urgency", True), "$.projects[0].urgency", "must be a number, not true"),
    "size is not a number": (put(f"{Q}.size", float("nan")), "$.projects[0].size", "finite"),
    "size is endless": (put(f"{Q}.size", float("inf")), "$.projects[0].size", "finite"),
    "size is huge": (put(f"{Q}.size", 10**40), "$.projects[0].size", "is too large"),
    "urgency by the moon": (put(f"{Q}.urgency_by", "moon"), "$.projects[0].urgency_by", "must be hand or deadline"),
    "by deadline without one": (put(f"{Q}.urgency_by", "deadline"), "$.projects[0].deadline", "is missing"),
    "a deadline that is no day": (put(f"{Q}.deadline", "2026-02-30"), "$.projects[0].deadline", "must be a day"),
    "a day written otherwise": (put(f"{Q}.deadline", "20261231"), "$.projects[0].deadline", "must be a day"),
    "a deadline that is a number": (put(f"{Q}.deadline", 7), "$.projects[0].deadline", "must be a text"),
    "a deadline of long ago": (put(f"{Q}.deadline", "1999-12-31"), "$.projects[0].deadline", "must lie between"),
    "no urgency": (drop(f"{Q}.urgency"), "$.projects[0].urgency", "is missing"),
    "members are a text": (put(f"{Q}.members", "ann"), "$.projects[0].members", "must be a list"),
    "a member twice": (put(f"{Q}.members", ["ann", "ann"]), "$.projects[0].members[1]", '"ann" stands twice'),
    "a manager who is a number": (put(f"{Q}.managers", [1]), "$.projects[0].managers[0]", "must be a text"),
    "a wish below the minimum": (
        put(f"{Q}.tasks", [{"pattern": "a*", "elastic_min": 3, "elastic_wish": 2}]),
        "$.projects[0].tasks[0].elastic_wish", "must not be below elastic_min (3)",
    ),
    "a wish without a minimum": (
        put(f"{Q}.tasks", [{"pattern": "a*", "one_request": True, "elastic_wish": 2}]),
        "$.projects[0].tasks[0].elastic_min", "is missing",
    ),
    "one request of a long pattern": (
        put(f"{Q}.tasks", [{"pattern": "a" * 65, "one_request": True}]),
        "$.projects[0].tasks[0].pattern", "is longer than 64 characters",
    ),
    "a pattern that says nothing": (
        put(f"{Q}.tasks", [{"pattern": "a*"}]), "$.projects[0].tasks[0]", "give an importance, a level",
    ),
    "a pattern twice": (
        put(f"{Q}.tasks", [{"pattern": "a*", "importance": 1}, {"pattern": "a*", "importance": 2}]),
        "$.projects[0].tasks[1].pattern", 'the pattern "a*" stands twice',
    ),
    "an importance of zero": (
        put(f"{Q}.tasks.0.importance", 0), "$.projects[0].tasks[0].importance", "must be above 0",
    ),
    "a pattern of no level": (
        put(f"{Q}.tasks", [{"pattern": "a*", "level": "P9"}]),
        "$.projects[0].tasks[0].level", 'no partition has a level "P9"',
    ),
    "an unknown mode": (put(f"{P}.mode", "users"), "$.partitions[0].mode", "is not one of user,"),
    "an unknown enforcement": (put(f"{P}.enforcement", "on"), "$.partitions[0].enforcement", "is not one of shadow"),
    "a level without a name": (put(f"{P}.levels.0", {}), "$.partitions[0].levels[0].name", "is missing"),
    "a level twice": (put(f"{P}.levels.1.name", "P0"), "$.partitions[0].levels[1].name", 'the level "P0" stands twice'),
    "a keyword twice": (
        put(f"{P}.levels.1.keyword", "p0"), "$.partitions[0].levels[1].keyword", 'the keyword "p0" stands twice',
    ),
    "thresholds that do not fall": (
        put(f"{P}.levels.1.min_score", 60), "$.partitions[0].levels[1].min_score", "must be below 60",
    ),
    "a negative threshold": (
        put(f"{P}.levels.1.min_score", -1), "$.partitions[0].levels[1].min_score", "must not be negative",
    ),
    "a quota of no level": (put(f"{P}.quotas", {"P7": 1}), "$.partitions[0].quotas.P7", '"P7" is no level'),
    "a quota that is a text": (put(f"{P}.quotas", {"P0": "1"}), "$.partitions[0].quotas.P0", "a whole number"),
    "an amount of no level": (put(f"{P}.quota_amounts", {"P7": {}}), "$.partitions[0].quota_amounts.P7", "no level"),
    "a total that is a number": (put(f"{P}.quota_totals", {"P0": 8}), "$.partitions[0].quota_totals.P0", "an object"),
    "a negative total": (
        put(f"{P}.quota_totals", {"P0": {"gpu": -1}}),
        "$.partitions[0].quota_totals.P0.gpu",
        "must not be negative",
    ),
    "an unknown answer to quotas": (put(f"{P}.over_quota", "kill"), "$.partitions[0].over_quota", "is not one of"),
    "an override to no level": (
        put(f"{P}.user_overrides", {"carol": "P7"}), "$.partitions[0].user_overrides.carol", 'known are "P0", "P1"',
    ),
    "an override that is a number": (
        put(f"{P}.user_overrides", {"carol": 0}), "$.partitions[0].user_overrides.carol", "must be a text",
    ),
    "a task override to no level": (
        put(f"{P}.task_overrides", {"rel *": "P7"}), '$.partitions[0].task_overrides["rel *"]', "is no level",
    ),
    "an override with no levels at all": (
        lambda c: c["partitions"][0].update(levels=[], quotas={}, task_overrides={}),
        "$.partitions[0].user_overrides.carol", "known are none yet",
    ),
    "a band of no level": (put(f"{P}.bands", [[0], [2]]), "$.partitions[0].bands[1][0]", "2 is no level"),
    "a level in two bands": (put(f"{P}.bands", [[0, 1], [1]]), "$.partitions[0].bands[1]", "1 must be below"),
    "a negative grace time": (put(f"{P}.grace_s", -30), "$.partitions[0].grace_s", "must not be negative"),
    "an unknown signal": (put(f"{P}.checkpoint_signal", "KILL"), "$.partitions[0].checkpoint_signal", "USR1, USR2"),
    "a cap that is a fraction": (
        put(f"{P}.max_preemptions_per_job", 2.5), "$.partitions[0].max_preemptions_per_job", "a whole number",
    ),
    "cancelling and not": (
        put(f"{P}.cancel_if_not_requeueable", True), "$.partitions[0].not_requeueable",
        '"requeue", but cancel_if_not_requeueable is true; leave that key out',
    ),
    "cancelling perhaps": (
        put(f"{P}.cancel_if_not_requeueable", "no"), "$.partitions[0].cancel_if_not_requeueable", "true or false",
    ),
    "an admin twice": (put(f"{P}.admins", ["dave", "dave"]), "$.partitions[0].admins[1]", "stands twice"),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_what_is_wrong_is_named_by_its_path(fault: str) -> None:
    change, path, message = WRONG[fault]
    with pytest.raises(InputError) as caught:
        decode_config(changed(CONFIG, change))
    assert caught.value.path == path
    assert message in caught.value.message
    assert str(caught.value).isprintable()


def test_thresholds_may_leave_levels_out() -> None:
    levels: list[dict[str, Any]] = [
        {"name": "A", "min_score": 9},
        {"name": "B", "keyword": "b"},
        {"name": "C", "min_score": 0},
    ]
    policy = decode_policy({"name": "x", "levels": levels})
    assert [rule.min_score for rule in policy.levels] == [9, None, 0]
    levels[2]["min_score"] = 9
    with pytest.raises(InputError, match='must be below 9, the threshold of "A"'):
        decode_policy({"name": "x", "levels": levels})


words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6)
positive = st.floats(1e-6, 1e9)


def ends(overrides: dict[str, str]) -> st.SearchStrategy[dict[str, int]]:
    """Ends for some of the overrides."""
    seconds = st.integers(0, 253_000_000_000)
    return st.dictionaries(st.sampled_from(sorted(overrides)), seconds) if overrides else st.just({})


@st.composite
def policies(draw: st.DrawFn) -> PartitionPolicy:
    names = draw(st.lists(words, max_size=4, unique=True))
    scores = sorted(draw(st.sets(st.floats(0, 1e6), min_size=len(names), max_size=len(names))), reverse=True)
    keywords = draw(st.lists(words, min_size=len(names), max_size=len(names), unique=True))
    levels = tuple(
        LevelRule(name, *draw(st.sampled_from([(score, word), (None, word), (score, None)])))
        for name, score, word in zip(names, scores, keywords, strict=True)
    )
    to_level = st.dictionaries(words, st.sampled_from(names), max_size=3) if names else st.just({})
    users, tasks = draw(to_level), draw(to_level)
    of_level = st.dictionaries(st.sampled_from(["cpu", "gpu:a100"]), st.integers(0, 9))
    limits = st.dictionaries(st.sampled_from(names), of_level, max_size=2) if names else st.just({})
    return PartitionPolicy(
        name=draw(words),
        mode=draw(st.sampled_from(list(Mode))),
        enforcement=draw(st.sampled_from(list(Enforcement))),
        levels=levels,
        quotas=draw(st.dictionaries(st.sampled_from(names), st.integers(0, 9), max_size=3)) if names else {},
        quota_amounts=draw(limits),
        quota_totals=draw(limits),
        over_quota=draw(st.sampled_from(list(OverQuota))),
        user_overrides=users,
        task_overrides=tasks,
        user_overrides_until=draw(ends(users)),
        task_overrides_until=draw(ends(tasks)),
        bands=draw(st.sampled_from([None, ((None,),)]))
        if not names
        else ((0,), (*range(1, len(names)), None)),
        victim_order=draw(st.sampled_from(list(VictimOrder))),
        exempt_s=draw(st.integers(0, 10**6)),
        grace_s=draw(st.integers(0, 10**6)),
        checkpoint_signal=draw(st.sampled_from(["", "USR1", "TERM"])),
        start_deadline_s=draw(st.integers(0, 10**6)),
        max_preemptions_per_job=draw(st.integers(0, 100)),
        not_requeueable=draw(st.sampled_from(NotRequeueable)),
        cancel_notice_s=draw(st.integers(0, 10**6)),
        no_requeue_users=tuple(draw(st.lists(st.sampled_from(["ann", "eval-*"]), unique=True))),
    )


@pytest.mark.parametrize(
    ("told", "users"), [({}, None), ({"keyword_users": []}, ()), ({"keyword_users": ["ann"]}, ("ann",))]
)
def test_a_keyword_is_open_as_long_as_the_file_does_not_say_whose_it_is(
    told: dict[str, list[str]], users: tuple[str, ...] | None
) -> None:
    level = {"name": "P0", "keyword": "p0", **told}
    policy = decode_policy({"name": "x", "mode": "user", "levels": [level]})
    assert policy.levels[0].keyword_users == users
    assert encode_policy(policy)["levels"] == [level]


@settings(max_examples=100, deadline=None)
@given(policies(), st.lists(words, max_size=3, unique=True))
def test_a_policy_that_was_written_is_read_back_the_same(policy: PartitionPolicy, admins: list[str]) -> None:
    assert decode_policy(json.loads(json.dumps(encode_policy(policy)))) == policy
    entry = ConfigPartition(policy, tuple(admins))
    assert decode_partition(encode_partition(entry)) == entry


@st.composite
def projects(draw: st.DrawFn) -> ConfigProject:
    patterns = draw(st.lists(words, max_size=3, unique=True))
    project = ProjectFacts(
        code=draw(words),
        size=draw(positive),
        grade=draw(positive),
        urgency=draw(positive),
        slurm_account=draw(st.one_of(st.just(""), words)),
        members=draw(st.frozensets(words, max_size=3)),
        tasks=tuple(
            TaskRule(pattern, draw(positive), draw(st.one_of(st.none(), words))) for pattern in patterns
        ),
    )
    deadline = draw(st.one_of(st.none(), st.dates(*DEADLINES)))
    return ConfigProject(
        project,
        draw(st.text(max_size=5)),
        tuple(draw(st.lists(words, max_size=2, unique=True))),
        urgency_by=draw(st.sampled_from([BY_HAND, BY_DEADLINE])) if deadline else BY_HAND,
        deadline=deadline,
    )


@settings(max_examples=100, deadline=None)
@given(projects())
def test_a_project_that_was_written_is_read_back_the_same(project: ConfigProject) -> None:
    assert decode_project(json.loads(json.dumps(encode_project(project)))) == project


@settings(max_examples=50, deadline=None)
@given(st.lists(projects(), max_size=3), st.lists(policies(), max_size=3))
def test_a_whole_file_too(some: list[ConfigProject], policies: list[PartitionPolicy]) -> None:
    plain = [
        replace(entry, project=replace(entry.project, code=f"c{i}", tasks=())) for i, entry in enumerate(some)
    ]
    partitions = tuple(ConfigPartition(replace(policy, name=f"x{i}")) for i, policy in enumerate(policies))
    config = Config("dev", tuple(plain), partitions)
    assert decode_config(json.loads(json.dumps(encode_config(config)))) == config


@pytest.mark.parametrize(
    ("until", "seconds"),
    [
        ("2026-12-01T18:00:00Z", 1796148000),
        ("2026-12-01T19:00:00+01:00", 1796148000),
        ("2026-12-01T18:00:00.9Z", 1796148000),
        ("2026-12-01T18:00Z", 1796148000),
    ],
)
def test_an_end_is_written_as_people_write_moments(until: str, seconds: int) -> None:
    document = {"name": "x", "levels": [{"name": "P0"}], "user_overrides": {"ann": "P0"}}
    policy = decode_policy({**document, "user_overrides_until": {"ann": until}})
    assert policy.user_overrides_until == {"ann": seconds}
    assert encode_policy(policy)["user_overrides_until"] == {"ann": "2026-12-01T18:00:00Z"}


@pytest.mark.parametrize(
    ("ends", "path", "message"),
    [
        ({"ann": "tomorrow"}, "$.task_overrides_until.ann", "is no moment"),
        ({"ann": "2026-12-01T18:00:00"}, "$.task_overrides_until.ann", "has no time zone"),
        ({"ann": "1969-12-01T18:00:00Z"}, "$.task_overrides_until.ann", "is not between"),
        ({"ann": "9999-12-31T23:59:59-23:59"}, "$.task_overrides_until.ann", "is not between"),
        ({"ann": 7}, "$.task_overrides_until.ann", "text"),
        ({"bob": "2026-12-01T18:00:00Z"}, "$.task_overrides_until.bob", "there is no override"),
        (["ann"], "$.task_overrides_until", "must be an object"),
    ],
)
def test_an_end_that_makes_no_sense_is_refused(ends: object, path: str, message: str) -> None:
    document = {"name": "x", "levels": [{"name": "P0"}], "task_overrides": {"ann": "P0"}}
    with pytest.raises(InputError) as error:
        decode_policy({**document, "task_overrides_until": ends})
    assert error.value.path == path
    assert message in error.value.message

"""Document 000 on where priorities come from: projects, patterns, prefixes, hands, and nothing (claim 2)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.model.jobs import JobState, Level, ObservedJob
from scheduler.model.observation import ObservedPartition
from scheduler.model.plan import DecisionKind, PlanningResult
from scheduler.model.policy import LevelRule, Mode, OverQuota, PartitionPolicy, ProjectFacts, TaskRule
from scheduler.model.reasons import Reason
from scheduler.priority.derive import derive
from scheduler.priority.score import task_score, user_score
from scheduler.reconcile.build import snapshot_for
from scheduler.reconcile.decide import decide
from tests.builders import NOW, node, observation, observed, one_node, policy, project

numbers = st.floats(0.01, 1000)
more = st.floats(1, 100)
RUNNING = JobState.RUNNING


def keyworded(count: int, **fields: object) -> PartitionPolicy:
    """A partition of so many levels P0, P1, … that are given by the keywords p0, p1, …"""
    levels = tuple(LevelRule(f"P{i}", keyword=f"p{i}") for i in range(count))
    return policy(levels=levels, mode=Mode.TASK, **fields)


def planned(
    rules: PartitionPolicy, jobs: list[ObservedJob], projects: list[ProjectFacts], cpus: int = 8
) -> PlanningResult:
    """What the whole core makes of observed jobs: levels derived, then decided."""
    seen = observation(jobs, [node(cpu=cpus)])
    return decide(snapshot_for(seen, rules, projects, preemptions={}).snapshot)


def on_one(job_id: str, cpus: int = 1, **fields: object) -> ObservedJob:
    return observed(job_id, RUNNING, alloc={"n1": {"cpu": cpus}}, **fields)


def at_least(one: Level, other: Level) -> bool:
    """Whether `one` is as high as `other`, or higher."""
    return other is None or (one is not None and one <= other)


# --- ¶67-¶72, ¶182, ¶196: from a project's facts to levels -------------------------------------------------


@pytest.mark.parametrize(
    ("size", "grade", "urgency", "score"), [(40, 1, 3, 120), (40, 2, 3, 60), (9, 3, 1, 3)]
)
def test_the_score_is_size_by_grade_times_urgency(
    size: float, grade: float, urgency: float, score: float
) -> None:
    """¶182 for users; ¶196 for tasks, with the importance of ¶67 as one more factor."""
    assert user_score(size, grade, urgency) == score
    assert task_score(size, grade, urgency) == score
    assert task_score(size, grade, urgency, 2) == 2 * score


@given(numbers, numbers, numbers, numbers, st.sampled_from(["size", "grade", "urgency", "importance"]), more)
def test_more_of_anything_never_lowers_a_level(
    size: float, grade: float, urgency: float, importance: float, what: str, factor: float
) -> None:
    """¶68: larger, of a better grade (a smaller number), more urgent, more important."""
    job = observed("1", name="train")
    before = project(size=size, grade=grade, urgency=urgency, tasks=(TaskRule("train", importance),))
    if what == "importance":
        after = replace(before, tasks=(TaskRule("train", importance * factor),))
    else:
        value = getattr(before, what)
        after = replace(before, **{what: value / factor if what == "grade" else value * factor})
    low, high = derive(job, policy(), [before]), derive(job, policy(), [after])
    assert at_least(high.user_level, low.user_level)
    assert at_least(high.task_level, low.task_level)
    assert what != "importance" or high.user_level == low.user_level


def test_a_project_with_a_delivery_this_month_gets_the_room() -> None:
    """¶69, ¶71, ¶72: projects a, b and c share a partition; nobody has set a level by hand."""
    relaxed = {"size": 10.0, "grade": 2.0, "urgency": 1.0}  # scores 5: P2
    projects = [project(code, [f"u{code}"], **relaxed) for code in ("b", "c")]
    jobs = [on_one("1", 4, user="ub"), on_one("2", 4, user="uc", start=NOW - 60)]
    asks = observed("3", user="ua", request=one_node(4))
    (calm,) = planned(policy(), [*jobs, asks], [*projects, project("a", ["ua"], **relaxed)]).decisions
    assert (calm.action, calm.reason) == (DecisionKind.QUEUE, Reason.NOTHING_LOWER_RUNS)
    due = project("a", ["ua"], **{**relaxed, "urgency": 12.0})  # scores 60: P0
    (urgent,) = planned(policy(), [*jobs, asks], [*projects, due]).decisions
    assert [victim.job for victim in urgent.victims] == ["2"]


def test_jobs_named_after_the_project_may_have_the_highest_task_level() -> None:
    """¶69: `a_jobname` stands for the task that is to be delivered."""
    a = project("a", size=10, grade=2, urgency=1, tasks=(TaskRule("a_*", level="P0"),))
    assert derive(observed(name="a_jobname"), policy(), [a]).task_level == 0
    assert derive(observed(name="other"), policy(), [a]).task_level == 2


def test_users_and_tasks_without_a_level_are_below_every_level() -> None:
    """¶70, ¶183, ¶197."""
    nobody = derive(observed(user="zed", name="work"), policy(), [project()])
    assert (nobody.user_level, nobody.task_level) == (None, None)
    rules = keyworded(5)
    jobs = [on_one("1", 4, name="work"), on_one("2", 4, name="p4_work"), observed("3", name="p4_more")]
    (decision,) = planned(rules, jobs, []).decisions
    assert [victim.job for victim in decision.victims] == ["1"]


def test_an_administrator_has_the_last_word() -> None:
    """¶64, ¶65: by hand, for a user or a task; taken back, the derived level holds again."""
    job = observed(user="ann", name="train")
    by_hand = policy(user_overrides={"ann": "P2"}, task_overrides={"train": "P1"})
    assert (derive(job, policy(), [project()]).user_level, derive(job, policy(), [project()]).task_level) == (
        0,
        0,
    )
    standing = derive(job, by_hand, [project()])
    assert (standing.user_level, standing.task_level) == (2, 1)


def test_a_user_has_a_level_of_its_own_in_every_partition() -> None:
    """¶181."""
    here, there = policy(user_overrides={"ann": "P0"}), policy(name="y", user_overrides={"ann": "P2"})
    assert derive(observed(), here, []).user_level == 0
    assert derive(observed(), there, []).user_level == 2


# --- ¶197-¶200: keywords and quotas ------------------------------------------------------------------------


def test_there_may_be_any_number_of_levels() -> None:
    """¶183, ¶197: of thirty levels, each yields to the next higher one and to no other way round."""
    rules = keyworded(30)
    for rank in range(1, 30):
        (up,) = planned(
            rules, [on_one("1", 8, name=f"p{rank}_a"), observed("2", name=f"p{rank - 1}_b")], []
        ).decisions
        (down,) = planned(
            rules, [on_one("1", 8, name=f"p{rank - 1}_a"), observed("2", name=f"p{rank}_b")], []
        ).decisions
        assert (up.action, down.action) == (DecisionKind.PREEMPT, DecisionKind.QUEUE)


@pytest.mark.parametrize(
    ("name", "level"),
    [("p0_jobname", 0), ("p1_jobname", 1), ("p2_jobname", 2), ("jobname", None), ("xp0_a", None)],
)
def test_the_prefix_of_a_jobs_name_is_its_task_level(name: str, level: Level) -> None:
    """¶199, ¶200."""
    assert derive(observed(name=name), keyworded(3), []).task_level == level


@pytest.mark.parametrize(("task", "quota"), [("p0", 1), ("p1", 3), ("p2", 5)])
def test_every_user_may_run_as_many_jobs_of_a_level_as_the_quota_says(task: str, quota: int) -> None:
    """¶200: p0=1, p1=3, p2=5 for each user; one more counts as unconfigured and stops nobody."""
    rules = keyworded(3, quotas={"P0": 1, "P1": 3, "P2": 5}, over_quota=OverQuota.LOWEST)
    own = [on_one(f"{i}", name=f"{task}_a{i}", user="a") for i in range(quota)]
    rest = [on_one(f"{20 + i}", name="work", user="z") for i in range(8 - quota)]
    one_more = [observed("50", name=f"{task}_a", user="a"), observed("51", name=f"{task}_b", user="b")]
    decisions = {each.job: each for each in planned(rules, [*own, *rest, *one_more], []).decisions}
    assert decisions["50"].action is DecisionKind.QUEUE
    assert decisions["51"].action is DecisionKind.PREEMPT
    fewer = {
        each.job: each for each in planned(rules, [*own[1:], *rest, *one_more[:1]], [], cpus=7).decisions
    }
    assert fewer["50"].action is DecisionKind.PREEMPT


# --- ¶55, ¶185: whose jobs are looked at -------------------------------------------------------------------


def test_only_jobs_of_the_same_partition_are_stopped() -> None:
    """A lower job of another partition on the same node is left alone; it holds its room."""
    rules = policy(user_overrides={"cy": "P0", "ann": "P2"})
    jobs = [on_one("1", 8, user="ann", partitions=("y",)), observed("2", user="cy")]
    partitions = tuple(ObservedPartition(name, nodes=("n1",)) for name in ("x", "y"))
    seen = observation(jobs, partitions=partitions)
    (decision,) = decide(snapshot_for(seen, rules, [], preemptions={}).snapshot).decisions
    assert (decision.action, decision.reason) == (DecisionKind.QUEUE, Reason.NOTHING_LOWER_RUNS)

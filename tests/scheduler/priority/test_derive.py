"""Which project a job belongs to, and the levels that come of it (spec 1.2)."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.model.jobs import ObservedJob
from scheduler.model.policy import LevelRule, PartitionPolicy, ProjectFacts, TaskRule
from scheduler.priority.derive import Deriver, JobStanding, begins_with_keyword, derive, deriver_for
from scheduler.priority.levels import weight
from tests.builders import observed, policy, project


def standing(job: ObservedJob, *projects: ProjectFacts, rules: PartitionPolicy | None = None) -> JobStanding:
    return derive(job, rules or policy(), projects)


ALPHA = project("alpha", size=40, urgency=3)
"""120 points: P0."""
BETA = project("beta", size=20, urgency=1)
"""20 points: P1."""
TINY = project("tiny", size=1, urgency=1)
"""1 point: below every level."""


class TestTheProjectOfAJob:
    def test_the_slurm_account_decides_first(self) -> None:
        job = observed(name="alpha_x", account="beta", wckey="alpha", comment="project=alpha")
        assert standing(job, ALPHA, BETA).project == "beta"

    @pytest.mark.parametrize("written", ["Beta", "BETA", "DOM\\Beta Lab"])
    def test_the_letters_of_an_account_are_small_in_slurm_whatever_was_typed(self, written: str) -> None:
        beta = project("beta", size=20, urgency=1, slurm_account=written)
        assert standing(observed(name="alpha_x", account=written.lower()), ALPHA, beta).project == "beta"

    @pytest.mark.parametrize(
        "words",
        [
            {"wckey": "beta"},
            {"wckey": "*beta"},
            {"comment": "beta"},
            {"comment": "project=beta"},
            {"comment": "resume; project=beta, keep"},
        ],
    )
    def test_then_the_wckey_or_the_comment(self, words: dict[str, Any]) -> None:
        assert standing(observed(name="alpha_x", account="other", **words), ALPHA, BETA).project == "beta"

    @pytest.mark.parametrize("comment", ["notproject=beta", "project=beta2", "my beta job", "project = beta"])
    def test_a_comment_that_only_resembles_a_project_names_none(self, comment: str) -> None:
        assert standing(observed(comment=comment), ALPHA, BETA).project == "alpha"

    def test_then_the_prefix_of_the_job_name(self) -> None:
        assert standing(observed(name="beta_train"), ALPHA, BETA).project == "beta"
        assert standing(observed(name="betatrain"), ALPHA, BETA).project == "alpha"

    def test_of_two_prefixes_the_longer_code_counts(self) -> None:
        longer = project("beta_two", size=1)
        assert standing(observed(name="beta_two_train"), BETA, longer).project == "beta_two"

    def test_then_the_users_only_project_or_the_best_of_several(self) -> None:
        assert standing(observed(name="x"), BETA).project == "beta"
        assert standing(observed(name="x"), BETA, TINY, ALPHA).project == "alpha"

    def test_of_equally_good_projects_the_first_by_code_counts(self) -> None:
        twin = project("aleph", size=40, urgency=3)
        assert standing(observed(name="x"), ALPHA, twin).project == "aleph"

    def test_projects_of_others_never_count_whatever_the_job_says(self) -> None:
        foreign = project("alpha", members=["bob"])
        job = observed(name="alpha_x", account="alpha", wckey="alpha", comment="project=alpha")
        assert standing(job, foreign) == JobStanding()

    def test_an_empty_account_is_not_the_account_of_a_project_without_one(self) -> None:
        no_account = project("aaa", size=1, slurm_account="")
        assert standing(observed(account="", name="x"), no_account, ALPHA).project == "alpha"


class TestTheUsersLevel:
    def test_the_score_passes_the_thresholds_and_says_how(self) -> None:
        found = standing(observed(account="alpha"), ALPHA)
        assert (found.user_level, found.user_score) == (0, 120)
        assert found.user_origin == "alpha: 40 ÷ 1 × 3 = 120 → P0"
        assert standing(observed(), BETA).user_level == 1

    def test_a_score_below_every_level_is_unconfigured_but_told(self) -> None:
        found = standing(observed(), TINY)
        assert found.user_level is None
        assert found.user_score == 1
        assert found.user_origin == "tiny: 1 ÷ 1 × 1 = 1 below every level"

    def test_without_a_project_nothing_is_configured(self) -> None:
        found = standing(observed(user="nobody"), ALPHA)
        assert found == JobStanding()
        assert found.user_origin == found.task_origin == "nothing configured"

    def test_the_partitions_override_has_the_last_word(self) -> None:
        rules = policy(user_overrides={"ann": "P2"})
        found = standing(observed(), ALPHA, rules=rules)
        assert (found.user_level, found.user_origin) == (2, "override by the partition")
        assert found.user_score == 120

    def test_an_override_needs_no_project(self) -> None:
        rules = policy(user_overrides={"guest*": "P1"})
        assert standing(observed(user="guest7"), rules=rules).user_level == 1

    def test_the_same_user_may_stand_differently_in_another_partition(self) -> None:
        other = PartitionPolicy("y", levels=(LevelRule("Q0", 1000), LevelRule("Q1", 100)))
        assert standing(observed(), ALPHA).user_level == 0
        assert standing(observed(), ALPHA, rules=other).user_level == 1


class TestAnOverrideWithAnEnd:
    END = 1796148000
    RULES = policy(
        user_overrides={"ann": "P2"},
        user_overrides_until={"ann": END},
        task_overrides={"release_*": "P0", "release_a*": "P1"},
        task_overrides_until={"release_a*": END},
    )

    def test_it_counts_until_then_and_says_so(self) -> None:
        found = derive(observed(name="release_a1"), self.RULES, [ALPHA], self.END - 1)
        assert (found.user_level, found.task_level) == (2, 1)
        assert found.user_origin == "override by the partition until 2026-12-01 18:00 UTC"
        assert found.task_origin == found.user_origin

    def test_from_that_second_on_it_counts_no_more_and_the_next_best_does(self) -> None:
        found = derive(observed(name="release_a1"), self.RULES, [ALPHA], self.END)
        assert (found.user_level, found.task_level) == (0, 0)
        assert found.user_origin.endswith("→ P0; the override to P2 ended 2026-12-01 18:00 UTC")
        assert found.task_origin == "override by the partition", "the wider pattern has no end"

    def test_a_keyword_counts_again_once_the_override_has_ended(self) -> None:
        rules = policy(task_overrides={"p0_*": "P2"}, task_overrides_until={"p0_*": self.END})
        before = derive(observed(name="p0_x"), rules, [], self.END - 1)
        after = derive(observed(name="p0_x"), rules, [], self.END)
        assert (before.task_level, after.task_level) == (2, 0)
        assert after.task_origin == "keyword p0; the override to P2 ended 2026-12-01 18:00 UTC"

    def test_the_policy_at_a_moment_has_only_what_counts_then(self) -> None:
        assert self.RULES.at(self.END - 1) == self.RULES
        then = self.RULES.at(self.END)
        assert (then.user_overrides, then.task_overrides) == ({}, {"release_*": "P0"})


class TestTheTasksLevel:
    def test_without_more_it_is_the_projects_score(self) -> None:
        found = standing(observed(name="train"), BETA)
        assert (found.task_level, found.task_score) == (1, 20)
        assert found.task_origin == "beta: 20 ÷ 1 × 1 = 20 → P1"

    def test_a_pattern_of_the_project_multiplies_by_its_importance(self) -> None:
        eager = project("beta", size=20, urgency=1, tasks=(TaskRule("*_eval*", importance=4),))
        found = standing(observed(name="beta_eval7"), eager)
        assert (found.task_level, found.task_score, found.user_level) == (0, 80, 1)
        assert found.task_origin == "beta: 20 ÷ 1 × 1 × 4 = 80 → P0 (pattern *_eval* of beta)"
        assert standing(observed(name="beta_train"), eager).task_score == 20

    def test_a_pattern_of_the_project_may_have_a_level_of_its_own(self) -> None:
        named = project("beta", size=20, urgency=1, tasks=(TaskRule("a_*", level="P0"),))
        found = standing(observed(name="a_jobname"), named)
        assert (found.task_level, found.task_origin) == (0, "pattern a_* of beta")

    def test_a_level_that_this_partition_does_not_have_leaves_the_importance(self) -> None:
        named = project("beta", size=20, urgency=1, tasks=(TaskRule("a_*", importance=4, level="Q9"),))
        found = standing(observed(name="a_jobname"), named)
        assert (found.task_level, found.task_score) == (0, 80)

    def test_a_keyword_goes_before_the_pattern(self) -> None:
        named = project("beta", size=20, urgency=1, tasks=(TaskRule("p2_*", level="P0"),))
        found = standing(observed(name="p2_eval"), named)
        assert (found.task_level, found.task_origin) == (2, "keyword p2")

    def test_a_keyword_needs_no_project(self) -> None:
        assert standing(observed(user="nobody", name="p0_train")).task_level == 0

    def test_an_override_goes_before_the_keyword(self) -> None:
        rules = policy(task_overrides={"p0_*": "P2"})
        found = standing(observed(name="p0_train"), ALPHA, rules=rules)
        assert (found.task_level, found.task_origin) == (2, "override by the partition")

    def test_an_override_leaves_other_names_alone(self) -> None:
        rules = policy(task_overrides={"release_*": "P0"})
        assert standing(observed(name="nightly"), TINY, rules=rules).task_level is None

    def test_of_several_patterns_the_longest_wins_then_the_first_by_alphabet(self) -> None:
        rules = policy(task_overrides={"*": "P2", "rel*": "P1", "rel_a*": "P0"})
        assert standing(observed(name="rel_a1"), rules=rules).task_level == 0
        assert standing(observed(name="rel_b1"), rules=rules).task_level == 1
        assert standing(observed(name="other"), rules=rules).task_level == 2
        tie = policy(task_overrides={"a?": "P1", "?b": "P2"})
        assert standing(observed(name="ab"), rules=tie).task_level == 2

    def test_case_matters_in_patterns_and_keywords(self) -> None:
        rules = policy(task_overrides={"Rel*": "P0"})
        assert standing(observed(name="release"), rules=rules).task_level is None
        assert standing(observed(name="P0_train"), rules=policy()).task_level is None


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("p0", True),
        ("p0_train", True),
        ("p0-train", True),
        ("p0.train", True),
        ("p0 train", True),
        ("p0train", False),
        ("p01_train", False),
        ("xp0_train", False),
        ("p", False),
        ("", False),
    ],
)
def test_a_keyword_begins_a_name_only_as_a_word_of_its_own(name: str, begins: bool) -> None:
    assert begins_with_keyword(name, "p0") is begins


def test_of_two_keywords_the_longer_one_counts() -> None:
    rules = PartitionPolicy("x", levels=(LevelRule("A", keyword="p"), LevelRule("B", keyword="p-slow")))
    assert standing(observed(name="p-slow_train"), rules=rules).task_level == 1
    assert standing(observed(name="p-fast"), rules=rules).task_level == 0


class TestWhoMayUseAKeyword:
    """A keyword that is not its user's counts for nothing, with or without the job_submit plugin."""

    RULES = PartitionPolicy(
        "x",
        levels=(
            LevelRule("P0", 60, "p0", keyword_users=("bob", "carol-*", "[!a]?")),
            LevelRule("P1", 20, "p1"),
            LevelRule("P2", 5, "p", keyword_users=("*",)),
        ),
    )

    @pytest.mark.parametrize(
        ("user", "level"),
        [
            ("bob", 0),
            ("carol-7", 0),
            ("bo", 0),
            ("an", None),
            ("carol", None),
            ("bobby", None),
            ("BOB", None),
        ],
    )
    def test_the_patterns_say_who(self, user: str, level: int | None) -> None:
        assert standing(observed(user=user, name="p0_eval"), rules=self.RULES).task_level == level

    def test_where_nobody_is_named_it_is_everybodys(self) -> None:
        assert standing(observed(user="ann", name="p1_eval"), rules=self.RULES).task_level == 1

    def test_an_empty_list_is_nobodys(self) -> None:
        rules = PartitionPolicy("x", levels=(LevelRule("P0", 60, "p0", keyword_users=()),))
        found = standing(observed(user="ann", name="p0_eval"), rules=rules)
        assert (found.task_level, found.task_origin) == (
            None,
            "keyword p0 is not ann's to use; nothing configured",
        )

    def test_the_reason_says_whose_it_is_not_and_what_counts_instead(self) -> None:
        found = standing(observed(user="ann", name="p0_eval"), rules=self.RULES)
        assert found.task_origin == "keyword p0 is not ann's to use; nothing configured"
        found = standing(observed(user="ann", name="p0_eval"), ALPHA, rules=self.RULES)
        assert (found.task_level, found.task_origin) == (
            0,
            "keyword p0 is not ann's to use; alpha: 40 ÷ 1 × 3 = 120 → P0",
        )
        named = project("tiny", size=1, tasks=(TaskRule("p0_*", level="P1"),))
        found = standing(observed(user="ann", name="p0_eval"), named, rules=self.RULES)
        assert (found.task_level, found.task_origin) == (
            1,
            "keyword p0 is not ann's to use; pattern p0_* of tiny",
        )

    def test_a_shorter_keyword_that_fits_too_is_tried_next(self) -> None:
        levels = (LevelRule("A", keyword="p-top", keyword_users=("bob",)), LevelRule("B", keyword="p"))
        found = standing(observed(user="ann", name="p-top_x"), rules=PartitionPolicy("x", levels=levels))
        assert (found.task_level, found.task_origin) == (1, "keyword p-top is not ann's to use; keyword p")

    def test_an_override_still_has_the_last_word(self) -> None:
        rules = replace(self.RULES, task_overrides={"p0_release": "P0"})
        found = standing(observed(user="ann", name="p0_release"), rules=rules)
        assert (found.task_level, found.task_origin) == (0, "override by the partition")

    def test_two_users_of_one_name_do_not_share_an_answer(self) -> None:
        deriver = Deriver(self.RULES, [])
        assert deriver.derive(observed("1", user="bob", name="p0_x")).task_level == 0
        assert deriver.derive(observed("2", user="ann", name="p0_x")).task_level is None


def test_hostile_names_are_only_names() -> None:
    rules = policy(task_overrides={"[x": "P0"})
    for name in ("", "*", "[x", "\n", "p0\x00", "../../etc", "<b>", "a" * 10_000):
        derive(observed(name=name, comment=name, wckey=name, account=name), rules, [ALPHA, BETA])
    assert standing(observed(name="[x"), rules=rules).task_level == 0


def test_a_deriver_answers_like_derive_and_equal_questions_once() -> None:
    deriver = Deriver(policy(), [ALPHA, BETA])
    first = deriver.derive(observed("1", name="p0_x", account="beta"))
    again = deriver.derive(observed("2", name="p0_x", account="beta"))
    assert first is again
    assert first == derive(observed("3", name="p0_x", account="beta"), policy(), [ALPHA, BETA])
    assert deriver.derive(observed("4", name="p0_x", account="alpha")).project == "alpha"


class TestFromOneMomentToTheNext:
    RULES = replace(policy(), user_overrides={"ann": "P0"}, user_overrides_until={"ann": 200})

    def test_answers_are_kept_while_nothing_has_changed(self) -> None:
        last = Deriver(self.RULES, [TINY], 100)
        answer = last.derive(observed("1", user="ann"))
        same = deriver_for(replace(self.RULES), (TINY,), 199, last)
        assert same.derive(observed("1", user="ann")) is answer

    def test_an_override_that_ends_meanwhile_counts_no_more(self) -> None:
        last = Deriver(self.RULES, [TINY], 100)
        assert last.derive(observed("1", user="ann")).user_level == 0
        found = deriver_for(self.RULES, [TINY], 200, last).derive(observed("1", user="ann"))
        assert found == derive(observed("1", user="ann"), self.RULES, [TINY], 200)
        assert found.user_level != 0

    @pytest.mark.parametrize("now", [99, 150])
    def test_other_rules_other_projects_and_a_clock_that_goes_back(self, now: int) -> None:
        last = Deriver(self.RULES, [ALPHA], 100)
        last.derive(observed("1", user="ann"))
        other = replace(self.RULES, user_overrides={"ann": "P1"})
        assert deriver_for(other, [ALPHA], now, last) is not last
        assert deriver_for(self.RULES, [ALPHA, BETA], now, last) is not last
        assert (deriver_for(self.RULES, [ALPHA], now, last) is last) == (now == 150)


@given(st.floats(0.1, 1000), st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0.1, 10), st.floats(1, 10))
def test_a_better_project_never_lowers_a_level(
    size: float, grade: float, urgency: float, importance: float, more: float
) -> None:
    """¶68: the larger, the better graded, the more urgent, the more important, the higher."""

    def level(size: float, grade: float, urgency: float, importance: float) -> tuple[int, int]:
        tasks = (TaskRule("job*", importance),)
        one = project("alpha", size=size, grade=grade, urgency=urgency, tasks=tasks)
        found = standing(observed(name="job1"), one)
        return weight(found.user_level), weight(found.task_level)

    before = level(size, grade, urgency, importance)
    for better in (
        level(size * more, grade, urgency, importance),
        level(size, grade / more, urgency, importance),
        level(size, grade, urgency * more, importance),
        level(size, grade, urgency, importance * more),
    ):
        assert better[0] >= before[0]
        assert better[1] >= before[1]

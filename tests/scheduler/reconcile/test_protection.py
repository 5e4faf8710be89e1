"""What a partition's rules protect: jobs, users, accounts and QOS, by shell-style patterns."""

from collections.abc import Mapping
from typing import Any

import pytest

from scheduler.model.jobs import JobState
from scheduler.model.policy import NotRequeueable
from scheduler.reconcile.blocking import why_protected
from scheduler.reconcile.build import snapshot_for
from scheduler.reconcile.protection import protecting_rule
from tests.builders import NOW, observation, observed, policy


def protected(rules: Mapping[str, tuple[str, ...]], **fields: Any) -> str:
    return protecting_rule(observed(**{"state": JobState.RUNNING, **fields}), policy(**rules))


@pytest.mark.parametrize(
    ("rule", "field", "what"),
    [
        ("protected_jobs", "name", "job"),
        ("protected_users", "user", "user"),
        ("protected_accounts", "account", "account"),
        ("protected_qos", "qos", "QOS"),
    ],
)
class TestEveryRule:
    def test_a_name_is_named(self, rule: str, field: str, what: str) -> None:
        assert protected({rule: ("long",)}, **{field: "long"}) == f"the partition protects the {what} long"

    def test_a_pattern_is_named_with_what_fits_it(self, rule: str, field: str, what: str) -> None:
        words = protected({rule: ("short", "l?n*", "lo*")}, **{field: "longer"})
        assert words == f"the partition protects the {what} longer (by l?n*)"

    @pytest.mark.parametrize("other", ["Long", "LONG", "longer", "along", "lon", "", "x\nlong", "long\nx"])
    def test_other_names_are_not_protected(self, rule: str, field: str, what: str, other: str) -> None:
        assert protected({rule: ("long", "[ab]*z")}, **{field: other}) == ""

    def test_without_the_rule_nobody_is(self, rule: str, field: str, what: str) -> None:
        assert protected({}, **{field: "long"}) == protected({rule: ()}, **{field: "long"}) == ""

    def test_what_is_empty_fits_no_pattern(self, rule: str, field: str, what: str) -> None:
        """A job without an account is not protected by the pattern of any account."""
        if field != "name":
            assert protected({rule: ("*",)}, **{field: ""}) == ""


def test_a_job_may_be_named_by_its_id_its_arrays_id_or_its_name() -> None:
    rules = {"protected_jobs": ("4711",)}
    assert protected(rules, job_id="4711") == "the partition protects the job 4711"
    assert protected(rules, job_id="4711_3", array_job_id="4711") == "the partition protects the job 4711"
    assert protected(rules, job_id="1", name="4711") == "the partition protects the job 4711"
    assert protected(rules, job_id="47110") == protected(rules, job_id="4711_3") == ""


def test_one_rule_does_not_look_at_what_another_is_about() -> None:
    assert protected({"protected_users": ("long",)}, qos="long", account="long", name="long") == ""


def test_long_names_are_cut() -> None:
    assert len(protected({"protected_jobs": ("x*",)}, name="x" * 5000)) < 150


def test_a_protected_job_is_no_victim_also_where_others_are_cancelled() -> None:
    rules = policy(protected_qos=("long",), not_requeueable=NotRequeueable.CANCEL, cancel_notice_s=0)
    job = observed("7", JobState.RUNNING, qos="long", batch=False)
    assert why_protected(job, rules, 0, NOW) == "the partition protects the QOS long"
    other = observed("8", JobState.RUNNING, qos="normal")
    built = snapshot_for(observation([job, other]), rules, [], preemptions={})
    assert [(j.id, j.preemptable, j.protected) for j in built.snapshot.jobs] == [
        ("7", False, "the partition protects the QOS long"),
        ("8", True, ""),
    ]


def test_what_the_cluster_forbids_is_told_first() -> None:
    job = observed("7", JobState.RUNNING, qos="long", slurm_state="SUSPENDED")
    assert why_protected(job, policy(protected_qos=("long",)), 9, NOW) == "it is suspended"
    job = observed("7", JobState.RUNNING, qos="long")
    assert (
        why_protected(job, policy(protected_qos=("long",)), 9, NOW) == "the partition protects the QOS long"
    )

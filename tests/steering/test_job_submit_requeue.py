"""slurmctld's script and jobs that must not be requeued: refused at submission, and when somebody changes it later."""

from pathlib import Path

import pytest

from console.steering.submit_rules import partition_lines, rules_text
from scheduler.model.policy import Enforcement, NotRequeueable, PartitionPolicy
from tests.steering.submit_script import DENIED, SUCCESS, Said, SubmitScript
from tests.steering.test_job_submit_script import NOW, quiet, rules, script

__all__ = ["rules", "script"]
NOT_SAID = "65534"
"""Slurm's number where the user has said nothing of it."""
NOBODY = (
    "jobs of ann in partition x have to be requeueable (--no-requeue is for: nobody); "
    "leave out --no-requeue, and Requeue=0"
)


def partition(name: str = "x", enforcement: str = "enforce", **keys: object) -> list[str]:
    policy = PartitionPolicy(name, enforcement=Enforcement(enforcement), **keys)  # type: ignore[arg-type]
    return list(partition_lines(policy, []))


def write(path: Path, *lines: str) -> None:
    path.write_text(rules_text(lines, NOW))


@pytest.fixture
def enforcing(script: SubmitScript, rules: Path) -> SubmitScript:
    """x for nobody, wide for some, y in shadow."""
    write(
        rules,
        *partition(),
        *partition("wide", no_requeue_users=("eval *", "b[!x]*")),
        *partition("y", "shadow"),
    )
    return script


def once(script: SubmitScript, user: str, where: str | None = "x", requeue: str = "0") -> Said:
    return script.submit(user, "train", where, requeue=requeue)


def test_refused_with_one_sentence(enforcing: SubmitScript) -> None:
    said = once(enforcing, "ann")
    assert (said.answer, said.user, said.info) == (
        DENIED,
        [f"giveway: {NOBODY}"],
        [f"giveway: refused: {NOBODY}"],
    )


@pytest.mark.parametrize("requeue", ["1", NOT_SAID])
def test_every_other_job_is_let_through(enforcing: SubmitScript, requeue: str) -> None:
    assert quiet(once(enforcing, "ann", requeue=requeue))
    assert quiet(enforcing.submit("ann", "train"))


def test_whom_the_policy_names_may(enforcing: SubmitScript) -> None:
    assert quiet(once(enforcing, "bob", "wide"))
    assert quiet(once(enforcing, "eval 7", "wide"))
    said = once(enforcing, "bx", "wide")
    assert said.answer == DENIED
    assert "(--no-requeue is for: eval *, b[!x]*)" in said.user[0]


def test_one_of_several_partitions_is_enough_and_the_default_one_counts(enforcing: SubmitScript) -> None:
    assert once(enforcing, "bob", "wide,x").answer == DENIED
    assert once(enforcing, "ann", None).answer == DENIED
    assert quiet(once(enforcing, "bob", None))


def test_in_shadow_only_the_log_is_told(enforcing: SubmitScript) -> None:
    said = once(enforcing, "ann", "y")
    assert (said.answer, said.user) == (SUCCESS, [])
    assert said.info[0].startswith(
        "giveway: would refuse, were it enforced: jobs of ann in partition y have to be"
    )


def test_later_it_is_refused_as_well_and_stands_in_the_log(enforcing: SubmitScript) -> None:
    before = {"name": "train", "user_name": "ann"}
    said = enforcing.modify("ann", before, requeue="0")
    assert (said.answer, said.user, said.info) == (DENIED, [], [f"giveway: refused: {NOBODY}"])
    for wanted in ({"requeue": "1"}, {"requeue": NOT_SAID}, {"requeue": NOT_SAID, "name": "other"}, {}):
        assert quiet(enforcing.modify("ann", before, **wanted)), wanted
    assert quiet(enforcing.modify("bob", {**before, "user_name": "bob", "partition": "wide"}, requeue="0"))
    assert enforcing.modify("ann", before, requeue="0", name="other").answer == DENIED


def test_changing_only_that_is_no_submission_anew(script: SubmitScript, rules: Path) -> None:
    """The keyword of a job that is there already is not looked at."""
    assert quiet(script.modify("ann", {"name": "p0_a"}, requeue="0"))
    assert script.submit("ann", "p0_a").answer == DENIED


def test_where_such_jobs_are_cancelled_they_may_be_submitted(script: SubmitScript, rules: Path) -> None:
    write(rules, *partition(not_requeueable=NotRequeueable.CANCEL))
    assert quiet(once(script, "ann"))
    write(rules, *partition(not_requeueable=NotRequeueable.LEAVE))
    assert once(script, "ann").answer == DENIED


def test_a_file_from_before_or_with_another_word_says_nothing_of_it(
    script: SubmitScript, rules: Path
) -> None:
    for line in ("partition x enforce", "partition x enforce something else"):
        write(rules, line)
        assert quiet(once(script, "ann")), line


def test_giveways_own_measurements_are_let_through_and_nobody_else_under_their_name(
    script: SubmitScript, rules: Path
) -> None:
    """Of any partition, and none is put off to be placed, though it asks for all GPUs of a node."""
    place, own = "cluster dev place x all 20", "cluster dev measures giveway-measure worker%20one"
    asks = {"script": "#!", "requeue": "0", "tres_per_node": "gres:gpu:8", "het_job_offset": "4294967294"}
    write(rules, own, place, *partition())
    assert quiet(script.submit("worker one", "giveway-measure", **asks))
    assert script.submit("ann", "giveway-measure", **asks).answer == DENIED
    assert script.submit("worker one", "another", **asks).answer == DENIED
    write(rules, place, *partition())
    assert script.submit("worker one", "giveway-measure", **asks).answer == DENIED

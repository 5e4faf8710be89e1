"""Who is immune because Slurm does not requeue him, under each choice of a policy."""

from dataclasses import replace
from typing import Any

import pytest

from scheduler.contracts.errors import InputError
from scheduler.contracts.policy import decode_policy, encode_policy
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.plan import How
from scheduler.model.policy import NotRequeueable, PartitionPolicy
from scheduler.reconcile.blocking import why_protected
from scheduler.reconcile.build import snapshot_for
from scheduler.reconcile.immunity import Immunity, immunity, must_be_cancelled, recalled, to_be_allowed
from tests.builders import NOW, observation, observed, policy

LEAVE, REQUEUE, CANCEL = NotRequeueable


def job(**fields: Any) -> ObservedJob:
    return observed("7", JobState.RUNNING, **fields)


KINDS = {
    Immunity.HET: job(het_job_id="7"),
    Immunity.INTERACTIVE: job(batch=False),
    Immunity.NO_REQUEUE: job(requeue=False),
    Immunity.CHANGED: job(requeue=False, was_requeueable=True),
}


def rules(kind: NotRequeueable, **keys: Any) -> PartitionPolicy:
    return policy(not_requeueable=kind, **keys)


@pytest.mark.parametrize("kind", Immunity)
def test_left_alone_every_kind_is_immune_and_says_why(kind: Immunity) -> None:
    assert immunity(KINDS[kind], rules(LEAVE), NOW) is kind
    assert why_protected(KINDS[kind], rules(LEAVE), 0, NOW)


def test_a_job_that_is_requeued_is_not_immune() -> None:
    for kind in NotRequeueable:
        assert immunity(job(), rules(kind), NOW) is None
        assert not must_be_cancelled(job(), rules(kind))


@pytest.mark.parametrize("kind", [Immunity.HET, Immunity.INTERACTIVE, Immunity.NO_REQUEUE])
def test_what_was_never_requeueable_stays_immune_where_others_are_made_so_again(kind: Immunity) -> None:
    assert immunity(KINDS[kind], rules(REQUEUE), NOW) is kind
    assert not to_be_allowed(KINDS[kind], rules(REQUEUE))


def test_who_was_requeueable_is_a_victim_like_any_other_and_is_requeued() -> None:
    changed = KINDS[Immunity.CHANGED]
    assert immunity(changed, rules(REQUEUE), NOW) is None
    assert why_protected(changed, rules(REQUEUE), 0, NOW) == ""
    (planned,) = snapshot_for(observation([changed]), rules(REQUEUE), [], preemptions={}).snapshot.jobs
    assert (planned.preemptable, planned.how) == (True, How.REQUEUE)


def test_whom_the_policy_names_may_change_it() -> None:
    named = rules(REQUEUE, no_requeue_users=("eval-*",))
    theirs = job(requeue=False, was_requeueable=True, user="eval-7")
    assert immunity(theirs, named, NOW) is Immunity.CHANGED
    assert immunity(KINDS[Immunity.CHANGED], named, NOW) is None


@pytest.mark.parametrize("kind", [Immunity.INTERACTIVE, Immunity.NO_REQUEUE, Immunity.CHANGED])
def test_a_job_is_cancelled_only_after_its_notice(kind: Immunity) -> None:
    cancelling = rules(CANCEL, cancel_notice_s=600)
    for since, immune in ((None, True), (NOW, True), (NOW - 599, True), (NOW - 600, False)):
        from_then = job(
            batch=KINDS[kind].batch,
            requeue=KINDS[kind].requeue,
            was_requeueable=KINDS[kind].was_requeueable,
            no_requeue_since=since,
        )
        assert (immunity(from_then, cancelling, NOW) is not None) is immune, since
        said = why_protected(from_then, cancelling, 0, NOW)
        assert said.endswith("; it may be cancelled 10 min after it was first seen so") is immune
    (planned,) = snapshot_for(
        observation([KINDS[kind]]), rules(CANCEL, cancel_notice_s=0), [], preemptions={}
    ).snapshot.jobs
    assert (planned.preemptable, planned.how) == (True, How.CANCEL)


def test_a_part_of_a_het_job_is_never_cancelled() -> None:
    assert immunity(KINDS[Immunity.HET], rules(CANCEL, cancel_notice_s=0), NOW) is Immunity.HET


def test_what_a_rule_protects_is_told_as_that() -> None:
    protecting = rules(LEAVE, protected_users=("*",))
    assert why_protected(KINDS[Immunity.NO_REQUEUE], protecting, 0, NOW).startswith("the partition protects")


def test_a_newer_look_knows_what_the_one_before_it_knew() -> None:
    before = observation([job(), observed("8", JobState.RUNNING, requeue=False)])
    after = observation([job(requeue=False), observed("8", JobState.RUNNING, requeue=False)])
    after = replace(after, taken_at=NOW + 5)
    seven, eight = recalled(after, before).jobs
    assert (seven.was_requeueable, seven.no_requeue_since) == (True, NOW + 5)
    assert (eight.was_requeueable, eight.no_requeue_since) == (False, None)


class TestOlderFiles:
    def test_a_file_without_the_key_has_jobs_made_requeueable_again(self) -> None:
        read = decode_policy({"name": "x"})
        assert (read.not_requeueable, read.cancel_notice_s, read.no_requeue_users) == (REQUEUE, 600, ())
        assert decode_policy({"name": "x", "cancel_if_not_requeueable": False}) == read

    def test_the_older_key_means_what_it_meant(self) -> None:
        read = decode_policy({"name": "x", "cancel_if_not_requeueable": True})
        assert (read.not_requeueable, read.cancel_notice_s) == (CANCEL, 0)
        assert decode_policy(encode_policy(read)) == read
        assert immunity(KINDS[Immunity.NO_REQUEUE], read, NOW) is None

    def test_the_older_key_beside_another_choice_is_refused(self) -> None:
        with pytest.raises(InputError, match="leave that key out"):
            decode_policy({"name": "x", "cancel_if_not_requeueable": True, "not_requeueable": "leave"})
        both = {
            "name": "x",
            "cancel_if_not_requeueable": True,
            "not_requeueable": "cancel",
            "cancel_notice_s": 60,
        }
        assert decode_policy(both).cancel_notice_s == 60

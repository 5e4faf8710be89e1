"""Two ways to decide over one observation: who moves, who is stopped, who starts."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.plan import How
from scheduler.model.policy import Enforcement, LevelRule, PartitionPolicy, ProjectFacts
from scheduler.reconcile.build import snapshot_for
from scheduler.reconcile.compare import Comparison, DecidedSide, NamedLevel, compare
from scheduler.reconcile.decide import decide
from tests import builders

ALPHA = builders.project("alpha", ["ann"])
BETA = builders.project("beta", ["bob"], size=10.0, urgency=3.0)
POLICY = builders.policy(enforcement=Enforcement.ENFORCE)
P0, P1 = NamedLevel(0, "P0"), NamedLevel(1, "P1")
NOTHING = NamedLevel(None, "unconfigured")


def runs(job_id: str, user: str, cpu: int, **fields: Any) -> ObservedJob:
    defaults = {"user": user, "account": "", "alloc": {"n1": {"cpu": cpu}}}
    return builders.observed(job_id, JobState.RUNNING, **{**defaults, **fields})


def waits(job_id: str, user: str, cpu: int, **fields: Any) -> ObservedJob:
    return builders.observed(job_id, user=user, request=builders.one_node(cpu), **fields)


def side(jobs: list[ObservedJob], policy: PartitionPolicy, *projects: ProjectFacts) -> DecidedSide:
    built = snapshot_for(builders.observation(jobs), policy, projects, preemptions={})
    return DecidedSide(policy, built.snapshot, built.standings, decide(built.snapshot).decisions)


def compared(
    jobs: list[ObservedJob],
    before: tuple[PartitionPolicy, list[ProjectFacts]],
    after: tuple[PartitionPolicy, list[ProjectFacts]],
) -> Comparison:
    return compare(side(jobs, before[0], *before[1]), side(jobs, after[0], *after[1]))


def test_a_project_that_becomes_urgent_moves_its_people_and_stops_whom_it_then_outranks() -> None:
    jobs = [runs("1", "ann", 8, name="alpha_train"), waits("2", "bob", 6, name="beta_eval")]
    urgent = replace(BETA, urgency=40.0)
    weaker = replace(ALPHA, urgency=1.0)

    found = compared(jobs, (POLICY, [weaker, BETA]), (POLICY, [weaker, urgent]))

    [move] = found.users
    assert (move.who, move.before, move.after, move.running, move.waiting) == ("bob", P1, P0, 0, 1)
    [task] = found.tasks
    assert (task.who, task.before, task.after) == ("beta_eval", P1, P0)
    [stop] = found.stopped
    assert (stop.victim.job, stop.victim.user, stop.victim.user_level) == ("1", "ann", P1)
    assert (stop.beneficiary.job, stop.beneficiary.user_level, stop.how) == ("2", P0, How.REQUEUE)
    assert (stop.ran_s, stop.amounts) == (builders.HOUR, {"cpu": 8})
    [start] = found.started
    assert (start.job.job, start.nodes, start.stops) == ("2", ("n1",), 1)
    assert not (found.spared or found.kept_waiting or found.nothing or found.only_planned)


def test_the_other_way_round_they_are_spared_and_wait() -> None:
    jobs = [runs("1", "ann", 8), waits("2", "bob", 6)]
    urgent, weaker = replace(BETA, urgency=40.0), replace(ALPHA, urgency=1.0)

    found = compared(jobs, (POLICY, [weaker, urgent]), (POLICY, [weaker, BETA]))

    assert [stop.victim.job for stop in found.spared] == ["1"]
    assert [start.job.job for start in found.kept_waiting] == ["2"]
    assert not (found.stopped or found.started)


def test_no_change_changes_nothing_though_there_is_much_to_do() -> None:
    jobs = [runs("1", "stranger", 8), waits("2", "ann", 6)]
    found = compared(jobs, (POLICY, [ALPHA]), (POLICY, [ALPHA]))
    assert found.nothing
    assert list(found.becomes.stops) == ["1"]
    assert list(found.was.starts) == ["2"]


def test_going_from_shadow_to_enforce_stops_what_was_only_planned() -> None:
    jobs = [runs("1", "stranger", 8), waits("2", "ann", 6)]
    shadow = replace(POLICY, enforcement=Enforcement.SHADOW)

    found = compared(jobs, (shadow, [ALPHA]), (POLICY, [ALPHA]))

    assert [stop.victim.job for stop in found.stopped] == ["1"]
    assert [start.job.job for start in found.started] == ["2"]
    assert found.users == ()
    back = compared(jobs, (POLICY, [ALPHA]), (shadow, [ALPHA]))
    assert [stop.victim.job for stop in back.spared] == ["1"]


def test_within_shadow_the_plans_are_compared_and_it_is_said_that_they_are_only_plans() -> None:
    jobs = [runs("1", "stranger", 8), waits("2", "ann", 6)]
    shadow = replace(POLICY, enforcement=Enforcement.SHADOW)

    found = compared(jobs, (shadow, []), (shadow, [ALPHA]))

    assert found.only_planned
    assert [stop.victim.job for stop in found.stopped] == ["1"]


def test_what_starts_in_free_room_starts_in_shadow_too() -> None:
    shadow = replace(POLICY, enforcement=Enforcement.SHADOW)
    found = compared([waits("2", "ann", 6)], (shadow, [ALPHA]), (POLICY, [ALPHA]))
    assert found.nothing
    assert list(found.was.starts) == ["2"]


def test_a_new_level_on_top_moves_nobody_who_keeps_the_name_of_their_level() -> None:
    higher = replace(POLICY, levels=(LevelRule("Top", min_score=1000.0), *POLICY.levels))
    jobs = [runs("1", "ann", 1), runs("2", "bob", 1)]
    assert compared(jobs, (POLICY, [ALPHA, BETA]), (higher, [ALPHA, BETA])).users == ()
    [move] = compared(jobs, (POLICY, [ALPHA, BETA]), (higher, [ALPHA, replace(BETA, size=1000.0)])).users
    assert (move.who, move.before, move.after) == ("bob", P1, NamedLevel(0, "Top"))


def test_jobs_of_one_user_in_two_projects_are_told_apart() -> None:
    both = [replace(ALPHA, members=frozenset({"ann"})), replace(BETA, members=frozenset({"ann"}))]
    jobs = [
        runs("1", "ann", 1, account="alpha", name="a"),
        runs("2", "ann", 1, account="beta", name="b"),
        waits("3", "ann", 1, account="beta", name="b"),
        builders.observed("4", JobState.COMPLETING, user="ann", account="beta"),
    ]
    found = compared(jobs, (POLICY, both), (POLICY, [both[0]]))
    assert [(move.before, move.after, move.running, move.waiting) for move in found.users] == [(P1, P0, 1, 1)]
    assert [(move.who, move.running, move.waiting) for move in found.tasks] == [("b", 1, 1)]


def test_an_override_and_a_level_that_is_gone() -> None:
    jobs = [runs("1", "ann", 1)]
    none = replace(POLICY, levels=())
    [move] = compared(jobs, (POLICY, [ALPHA]), (none, [ALPHA])).users
    assert (move.before, move.after) == (P0, NOTHING)
    pushed = replace(POLICY, user_overrides={"ann": "P1"})
    [move] = compared(jobs, (POLICY, [ALPHA]), (pushed, [ALPHA])).users
    assert (move.before, move.after) == (P0, P1)


@given(st.integers(1, 8), st.integers(1, 8), st.floats(0.5, 200), st.floats(0.5, 200))
def test_what_is_gained_one_way_is_lost_the_other(low: int, asks: int, urgency: float, then: float) -> None:
    jobs = [runs("1", "ann", low), runs("3", "cy", 8 - low) if low < 8 else waits("3", "cy", 1)]
    jobs.append(waits("2", "bob", asks))
    before = (POLICY, [ALPHA, replace(BETA, urgency=urgency)])
    after = (POLICY, [ALPHA, replace(BETA, urgency=then)])
    there, back = compared(jobs, before, after), compared(jobs, after, before)
    assert [stop.victim.job for stop in there.stopped] == [stop.victim.job for stop in back.spared]
    assert [start.job.job for start in there.started] == [start.job.job for start in back.kept_waiting]
    assert [(m.who, m.before, m.after) for m in there.users] == [
        (m.who, m.after, m.before) for m in back.users
    ]
    assert there.nothing == back.nothing

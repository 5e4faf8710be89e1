"""What is not understood of a job or a node: nobody is stopped for room that would not be real, nor the job itself."""

from dataclasses import replace

from scheduler.model.jobs import JobState
from scheduler.model.observation import ObservedPartition
from scheduler.reconcile.build import snapshot_for
from scheduler.reconcile.decide import decide
from scheduler.reconcile.eligible import why_spared
from scheduler.reconcile.still import still_makes_room
from tests.builders import node, observation, observed, one_node, policy

LOW = observed("1", JobState.RUNNING, name="p2_low", alloc={"n1": {"cpu": 6}})
HIGH = observed("2", name="p0_high", user="ann", request=one_node(6))
ODD = "its share of n1 is not told"
RULES = policy(mode="task")


def test_a_job_that_is_not_understood_is_no_victim() -> None:
    def victims(job: object) -> list[str]:
        built = snapshot_for(observation([job, HIGH]), RULES, [], preemptions={})  # type: ignore[list-item]
        return [victim.job for decision in decide(built.snapshot).decisions for victim in decision.victims]

    assert victims(LOW) == ["1"]
    assert victims(replace(LOW, not_understood=ODD)) == []


def test_a_victim_that_is_no_longer_understood_is_spared_at_the_second_look() -> None:
    def spared(words: str) -> str:
        seen = observation([replace(LOW, not_understood=words), HIGH])
        return why_spared(seen, RULES, [], beneficiary="2", victims=frozenset({LOW.run}), preemptions={})

    assert spared("") == ""
    assert spared(ODD) == (
        f"1 may no longer be stopped: not everything that Slurm tells of it is understood: {ODD}."
    )


def test_an_untold_share_is_neither_free_nor_to_be_had() -> None:
    """Six of eight CPUs are the victim's, two are nobody's that is told."""
    held = node(held_elsewhere={"cpu": 2})
    wide = replace(HIGH, request=one_node(8))

    def stopped(seen: object) -> list[str]:
        built = snapshot_for(seen, RULES, [], preemptions={})  # type: ignore[arg-type]
        return [victim.job for decision in decide(built.snapshot).decisions for victim in decision.victims]

    assert stopped(observation([LOW, wide])) == ["1"]
    assert stopped(observation([LOW, wide], nodes=[held])) == []
    assert still_makes_room(observation([LOW], nodes=[held]), {"n1": {"cpu": 6}}, frozenset({LOW.run})) == ""
    assert "taken the room on n1" in still_makes_room(
        observation([LOW], nodes=[held]), {"n1": {"cpu": 7}}, frozenset({LOW.run})
    )


def test_a_partition_that_names_a_node_of_which_nothing_is_told_is_planned_without_it() -> None:
    there = replace(LOW, alloc={"n1": {"cpu": 2}, "n9": {"cpu": 2}})
    seen = replace(observation([there, HIGH]), partitions=(ObservedPartition("x", nodes=("n1", "n9")),))

    built = snapshot_for(seen, RULES, [], preemptions={})

    assert [each.name for each in built.snapshot.nodes] == ["n1"]
    assert decide(built.snapshot).decisions

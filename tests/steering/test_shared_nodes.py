"""Partitions that share nodes: what is under way in one is counted once in the other."""

from console.partitions.models import Partition
from console.steering.deciding import decide_all
from console.steering.facts import Facts, PartitionFacts, Stops
from scheduler.model.jobs import JobState
from scheduler.model.observation import ObservedPartition
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import Enforcement
from scheduler.reconcile.decide import Outstanding
from tests.builders import node, observation, observed, one_node, policy

SHARED = tuple(ObservedPartition(name, nodes=("n1",)) for name in ("x", "y"))
LEVELS = {"low": "P2", "urgent": "P0"}


def partition(name: str) -> PartitionFacts:
    rules = policy(name=name, user_overrides=LEVELS, enforcement=Enforcement.ENFORCE)
    return PartitionFacts(Partition(name=name), rules, 1)


def test_a_victim_and_the_room_it_makes_in_another_partition_are_not_both_held() -> None:
    """n1 has 8 CPUs: six of them are being freed in y for another six, and two are free for x."""
    victim = observed("1", JobState.RUNNING, user="low", partitions=("y",), alloc={"n1": {"cpu": 6}})
    jobs = [
        victim,
        observed("2", user="urgent", partitions=("y",), request=one_node(6)),
        observed("3", user="urgent", request=one_node(2)),
        observed("4", user="urgent", request=one_node(3)),
    ]
    facts = Facts(
        partitions={name: partition(name) for name in ("x", "y")},
        projects=(),
        stops=Stops(),
        plans=(),
        outstanding=Outstanding(beneficiaries={"2": {"n1": {"cpu": 6}}}, victims=frozenset({victim.run})),
    )
    in_x, in_y = decide_all(observation(jobs, [node()], partitions=SHARED), facts)
    decisions: dict[str, Decision] = {each.job: each for each in (*in_x.decisions, *in_y.decisions)}
    assert {job: each.action for job, each in decisions.items()} == {
        "2": DecisionKind.WAIT,
        "3": DecisionKind.WAIT,
        "4": DecisionKind.QUEUE,
    }
    assert not any(each.victims for each in decisions.values())


def test_tasks_that_get_room_together_in_one_partition_are_not_helped_in_the_other() -> None:
    """Two tasks may go to x or y; room is made for both in x, and each keeps its own part of it."""
    jobs = [
        *(observed(f"1{n}", JobState.RUNNING, user="low", alloc={"n1": {"cpu": 4}}) for n in range(2)),
        *(
            observed(
                f"7_{n}",
                user="urgent",
                partitions=("x", "y"),
                request=one_node(3),
                array_job_id="7",
                name="s",
            )
            for n in range(2)
        ),
    ]
    facts = Facts(
        partitions={name: partition(name) for name in ("x", "y")},
        projects=(),
        stops=Stops(),
        plans=(),
        outstanding=Outstanding(),
    )
    in_x, in_y = decide_all(observation(jobs, [node()], partitions=SHARED), facts)
    first, second = in_x.decisions
    assert ([task.job for task in first.tasks], second.lead) == (["7_0", "7_1"], "7_0")
    assert len(first.victims) == 2
    assert [(each.action, each.placement) for each in in_y.decisions] == [
        (DecisionKind.WAIT, {"n1": {"cpu": 3}}),
        (DecisionKind.WAIT, {"n1": {"cpu": 3}}),
    ]

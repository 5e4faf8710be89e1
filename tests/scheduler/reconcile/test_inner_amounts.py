"""What is only planned with: the cards of a node, and what a partition may use of it."""

from scheduler.model import words
from scheduler.model.jobs import JobState
from scheduler.model.observation import Observation, ObservedPartition
from scheduler.reconcile.build import snapshot_for
from scheduler.reconcile.still import needless, still_makes_room
from tests.builders import anywhere, node, observation, observed, one_node, policy

X = ObservedPartition("x", nodes=("n1",), cpus_per_node=4)
Y = ObservedPartition("y", nodes=("n1",))
CARD = "~gpu0.shard4"
RUNNING = JobState.RUNNING


def seen() -> Observation:
    """Of n1 partition x may use half: its own job has that, another partition's has two more CPUs and a card."""
    own = observed("1", RUNNING, alloc={"n1": {"cpu": 4}})
    theirs = observed("2", RUNNING, partitions=("y",), alloc={"n1": {"cpu": 2}}, inner={"n1": {CARD: 4}})
    asks = [observed("3", request=one_node(2)), observed("4", request=anywhere(2))]
    return observation([own, theirs, *asks], [node(inner={CARD: 4})], partitions=(X, Y))


def test_a_snapshot_has_it_among_its_amounts() -> None:
    made = snapshot_for(seen(), policy(), [], preemptions={}).snapshot
    jobs = {job.id: job for job in made.jobs}

    assert made.nodes[0].total == {"cpu": 8, CARD: 4, X.limited: 4}
    assert made.nodes[0].held_elsewhere == {"cpu": 2, CARD: 4}
    assert jobs["1"].alloc == {"n1": {"cpu": 4, X.limited: 4}}
    assert jobs["3"].request == one_node(per_node={"cpu": 2, X.limited: 2})
    assert jobs["4"].request == anywhere(spread={"cpu": 2, X.limited: 2}, parts=2)


def test_another_partition_of_the_node_is_not_limited() -> None:
    made = snapshot_for(seen(), policy(name="y"), [], preemptions={}).snapshot
    assert made.jobs[0].alloc == {"n1": {"cpu": 2, CARD: 4}}
    assert made.nodes[0].held_elsewhere["cpu"] == 4


def test_where_there_is_nothing_of_the_kind_nothing_is_made_anew() -> None:
    plain = observation([observed()])
    assert plain.planned is plain
    assert seen().planned is not seen()


def test_a_second_look_counts_it_too() -> None:
    victim = observed("1", RUNNING).run
    placement = {"n1": {"cpu": 2, X.limited: 2}}
    assert still_makes_room(seen(), placement, frozenset({victim})) == ""
    assert still_makes_room(seen(), placement, frozenset()) != ""
    assert still_makes_room(seen(), {"n1": {CARD: 1}}, frozenset({victim})) != ""
    assert needless(seen(), placement, frozenset({victim}), [victim]) == []


def test_nobody_reads_of_it() -> None:
    assert words.amounts({"cpu": 2, X.limited: 2, CARD: 4}) == "2 cpu"

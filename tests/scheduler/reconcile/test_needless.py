"""Who need not be stopped any more when less room is needed than was planned."""

from scheduler.model.jobs import JobState
from scheduler.model.observation import Observation
from scheduler.reconcile.still import needless
from tests.builders import node, observation, observed

RUNS = [
    observed(str(number), JobState.RUNNING, alloc={"n1": {"cpu": cpus}})
    for number, cpus in ((1, 2), (2, 2), (3, 4))
]
KEYS = [job.run for job in RUNS]


def seen() -> Observation:
    """n1 has 8 CPUs and all of them are in use."""
    return observation(RUNS, [node()])


def test_the_most_valuable_is_spared_first() -> None:
    going = frozenset(KEYS)
    assert needless(seen(), {"n1": {"cpu": 6}}, going, KEYS) == KEYS[:1]
    assert needless(seen(), {"n1": {"cpu": 4}}, going, KEYS) == KEYS[:2]
    assert needless(seen(), {"n1": {"cpu": 4}}, going, KEYS[::-1]) == KEYS[2:]


def test_nobody_is_spared_who_is_needed_or_goes_for_others() -> None:
    going = frozenset(KEYS)
    assert needless(seen(), {"n1": {"cpu": 8}}, going, KEYS) == []
    assert needless(seen(), {"n1": {"cpu": 2}}, going, []) == []


def test_who_is_not_about_to_go_holds_its_room() -> None:
    assert needless(seen(), {"n1": {"cpu": 4}}, frozenset(KEYS[2:]), KEYS[2:]) == []


def test_a_node_that_is_not_there_has_no_room() -> None:
    assert needless(seen(), {"n9": {"cpu": 1}}, frozenset(KEYS), KEYS) == []

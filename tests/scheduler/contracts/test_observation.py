"""A recorded observation comes back exactly as it was, and says where it is wrong."""

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.adapters.simulator.scenarios import SCENARIOS
from scheduler.contracts.errors import InputError
from scheduler.contracts.observation import READERS, decode_observation, encode_observation
from scheduler.model.jobs import JobState, ObservedJob, Request
from scheduler.model.nodes import SnapshotNode
from scheduler.model.observation import Observation, ObservedPartition
from tests import builders

HOSTILE = '"><script>\x1b[31m\u202e\ud800 =1+1'
texts = st.text(st.characters(), max_size=8)
amounts = st.dictionaries(st.sampled_from(["cpu", "gpu", "gpu:a100", "mem"]), st.integers(0, 2**40))
requests = st.builds(
    Request,
    nodes=st.integers(0, 9),
    per_node=amounts,
    spread=amounts,
    unit=amounts,
    count=st.integers(0, 9),
    partial=st.booleans(),
    features=st.frozensets(texts),
    only_nodes=st.frozensets(texts),
    not_nodes=st.frozensets(texts),
    exclusive=st.booleans(),
    any_of=st.lists(st.frozensets(texts), max_size=2).map(tuple),
    same_of=st.lists(st.frozensets(texts), max_size=2).map(tuple),
    counted=st.lists(st.tuples(st.integers(), st.frozensets(texts)), max_size=2).map(tuple),
)
numbers = st.one_of(st.none(), st.integers(-(2**63), 2**63))
jobs = st.builds(
    ObservedJob,
    id=texts,
    name=texts,
    user=texts,
    state=st.sampled_from(JobState),
    partitions=st.lists(texts, max_size=2).map(tuple),
    submit=st.integers(),
    start=numbers,
    priority=st.integers(),
    held=st.booleans(),
    batch=st.booleans(),
    requeue=st.booleans(),
    eligible=numbers,
    comment=texts,
    dependency=texts,
    licenses=texts,
    alloc=st.dictionaries(st.sampled_from(["n1", "n2"]), amounts),
    request=st.one_of(st.none(), requests),
)
nodes = st.builds(
    SnapshotNode,
    name=texts,
    up=st.booleans(),
    total=amounts,
    features=st.frozensets(texts),
    held_elsewhere=amounts,
    coming_elsewhere=amounts,
    unit=st.one_of(st.none(), texts),
    power=st.dictionaries(st.just("gpu"), st.floats(0.001, 9)),
    health=st.floats(0, 1),
    partitions=st.lists(texts, max_size=2).map(tuple),
)


def through_text(observation: Observation) -> Observation:
    return decode_observation(json.loads(encode_observation(observation)))


@given(st.lists(jobs, max_size=4), st.lists(nodes, max_size=3), st.lists(texts, max_size=2))
def test_every_observation_comes_back_exactly(
    some: list[ObservedJob], places: list[SnapshotNode], faults: list[str]
) -> None:
    seen = Observation(
        cluster="dev",
        taken_at=builders.NOW,
        nodes=tuple(places),
        partitions=(ObservedPartition("x", "DOWN", ("n1",)), ObservedPartition("y", units={"n1": "b1"})),
        jobs=tuple(some),
        faults=tuple(faults),
    )
    assert through_text(seen) == seen


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_what_the_simulator_shows_comes_back_exactly(name: str) -> None:
    port = SCENARIOS[name].build(builders.NOW)
    port.advance(60)
    seen = port.observe()
    assert through_text(seen) == seen


@pytest.mark.parametrize("made", READERS)
def test_no_field_is_forgotten(made: type) -> None:
    assert set(READERS[made]) == {field.name for field in fields(made)}


def test_hostile_text_is_kept() -> None:
    seen = builders.observation([builders.observed(name=HOSTILE, comment=HOSTILE)])
    assert through_text(seen).jobs[0].name == HOSTILE


def test_what_has_its_default_takes_no_room() -> None:
    [job] = json.loads(encode_observation(builders.observation([builders.observed("7")])))["jobs"]
    assert set(job) == {
        "id", "name", "user", "state", "partitions", "submit", "slurm_state", "slurm_reason", "request",
    }  # fmt: skip
    assert job["request"] == {"nodes": 1, "per_node": {"cpu": 1}}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("$.jobs[0].held", 1, "must be true or false"),
        ("$.jobs[0].name", None, "must be a text"),
        ("$.jobs[0].submit", "x", "must be a whole number"),
        ("$.jobs[0].surprise", 1, "unknown key"),
        ("$.jobs[0].request.surprise", 1, "unknown key"),
        ("$.nodes[0].up", "yes", "must be true or false"),
        ("$.schema", "giveway.observation/2", "must be"),
    ],
)
def test_a_fault_names_its_place(path: str, value: Any, message: str) -> None:
    document = json.loads(encode_observation(builders.observation([builders.observed()])))
    place: Any = document
    steps = path.removeprefix("$.").replace("[0]", ".0").split(".")
    for step in steps[:-1]:
        place = place[int(step)] if step.isdecimal() else place[step]
    place[steps[-1]] = value
    with pytest.raises(InputError, match=message) as caught:
        decode_observation(document)
    assert caught.value.path == path


def test_what_must_be_there_is_asked_for() -> None:
    document = json.loads(encode_observation(builders.observation([builders.observed()])))
    del document["jobs"][0]["user"]
    with pytest.raises(InputError, match="is missing") as caught:
        decode_observation(document)
    assert caught.value.path == "$.jobs[0].user"

"""Properties of the simulated cluster under any sequence of what users, administrators and Giveway may do."""

import json
from dataclasses import asdict
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scheduler.adapters.simulator import stored
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.jobs import JobSpec, OnSignal
from scheduler.adapters.simulator.placement import with_untyped
from scheduler.adapters.simulator.scenarios import scenario
from scheduler.adapters.simulator.state import SimNodeState
from scheduler.adapters.simulator.submission import SubmitError
from scheduler.model.actions import STOPPING, Action, ActionKind, OutcomeKind
from scheduler.model.jobs import JobState, ObservedJob, Request, RunKey
from scheduler.model.observation import Observation
from scheduler.model.resources import total
from tests.adapters.simulator.builders import NOW

NODES = ("n1", "n2", "n3", "n4")
HOLDING = (JobState.RUNNING, JobState.COMPLETING)

amounts = st.fixed_dictionaries(
    {"cpu": st.integers(1, 8)},
    optional={"mem": st.integers(1, 16_000), "gpu": st.integers(1, 8), "gpu:a100": st.integers(1, 8)},
)
spread = st.fixed_dictionaries({"cpu": st.integers(1, 40)}, optional={"gpu": st.integers(1, 20)})
places: dict[str, Any] = {
    "features": st.sampled_from([frozenset(), frozenset({"a100"}), frozenset({"v100"})]),
    "not_nodes": st.frozensets(st.sampled_from(NODES), max_size=2),
    "exclusive": st.booleans(),
}
requests = st.one_of(
    st.builds(Request, nodes=st.integers(1, 3), per_node=amounts, **places),
    st.builds(Request, spread=spread, **places),
)
seconds = st.none() | st.integers(0, 300)
specs = st.builds(
    JobSpec,
    name=st.text(max_size=5),
    user=st.sampled_from(["ann", "bob"]),
    request=requests,
    partitions=st.lists(st.sampled_from(["x", "q", "wide"]), min_size=1, unique=True).map(tuple),
    run_time_s=seconds,
    time_limit_s=seconds,
    begin=st.none() | st.integers(NOW, NOW + 300),
    held=st.booleans(),
    batch=st.booleans(),
    requeue=st.booleans(),
    array_tasks=st.integers(0, 3),
    on_signal=st.sampled_from(OnSignal),
    completing_s=st.none() | st.integers(0, 10),
)


class Cluster(RuleBasedStateMachine):
    """Anybody does anything, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.sim: SimulatedCluster = scenario("empty").build(NOW)
        self.submitted = 0
        self.requests: dict[str, Request] = {}
        self.runs: dict[str, int] = {}

    @rule(spec=specs)
    def submit(self, spec: JobSpec) -> None:
        try:
            number = self.sim.submit(spec)
        except SubmitError:
            return
        self.requests[number] = spec.request

    @rule(spec=specs, copies=st.integers(2, 12))
    def submit_many(self, spec: JobSpec, copies: int) -> None:
        for _ in range(copies):
            self.submit(spec)

    @rule(some=st.integers(0, 600))
    def advance(self, some: int) -> None:
        self.sim.advance(some)

    @rule(some=st.integers(0, 100_000))
    def sleep(self, some: int) -> None:
        self.sim.sleep(some)

    @rule(name=st.sampled_from(NODES), word=st.sampled_from(SimNodeState))
    def set_node(self, name: str, word: SimNodeState) -> None:
        self.sim.set_node_state(name, word)

    @rule(name=st.sampled_from(["x", "q", "wide"]), word=st.sampled_from(["UP", "DOWN", "DRAIN"]))
    def set_partition(self, name: str, word: str) -> None:
        self.sim.set_partition_state(name, word)

    @precondition(lambda self: self.sim.state.jobs)
    @rule(data=st.data(), kind=st.sampled_from(ActionKind), stale=st.integers(0, 3))
    def act(self, data: st.DataObject, kind: ActionKind, stale: int) -> None:
        job = data.draw(st.sampled_from(self.sim.observe().jobs))
        run = job.run if stale else RunKey(job.id, job.run.start - 1, job.restarts)
        action = Action(
            kind, run, value={ActionKind.PRIORITISE: "9", ActionKind.SIGNAL: "USR1"}.get(kind, "")
        )
        before = self.sim.observe()

        [outcome] = self.sim.apply([action])

        if kind in STOPPING and not stale:
            assert outcome.kind is OutcomeKind.GONE
        if outcome.kind is not OutcomeKind.DONE:
            assert self.sim.observe() == before
        [again] = self.sim.apply([action])
        assert kind is ActionKind.SIGNAL or again.kind is not OutcomeKind.DONE

    @precondition(lambda self: self.sim.state.jobs)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        assert self.sim.cancel(data.draw(st.sampled_from(list(self.sim.state.jobs))))

    @rule()
    def restart(self) -> None:
        before = self.sim.observe()
        text = json.dumps(stored.dump(self.sim.state))
        self.sim = SimulatedCluster(stored.load(json.loads(text)))
        assert self.sim.observe() == before
        assert json.dumps(stored.dump(self.sim.state)) == text

    @invariant()
    def no_node_is_overcommitted(self) -> None:
        seen = self.sim.observe()
        for node in seen.nodes:
            held = total(job.alloc[node.name] for job in seen.jobs if node.name in job.alloc)
            assert all(held[name] <= node.total.get(name, 0) for name in held), (node, held)
            assert held.get("gpu", 0) == sum(held.get(kind, 0) for kind in ("gpu:a100", "gpu:v100"))

    @invariant()
    def no_job_is_on_a_node_that_is_down(self) -> None:
        down = {node.name for node in self.sim.observe().nodes if node.state == "DOWN"}
        assert not any(down & set(job.alloc) for job in self.sim.observe().jobs)

    @invariant()
    def an_exclusive_job_is_alone(self) -> None:
        seen = self.sim.observe()
        for job in seen.jobs:
            if self._request(job).exclusive:
                others = [other for other in seen.jobs if other.id != job.id]
                assert not any(set(job.alloc) & set(other.alloc) for other in others)

    @invariant()
    def every_job_holds_what_it_asked_for_where_it_may_or_nothing(self) -> None:
        seen = self.sim.observe()
        for job in seen.jobs:
            if job.state not in HOLDING:
                assert job.alloc == {}
                assert job.start is None
                continue
            assert job.start is not None
            assert job.start <= seen.taken_at
            self._check_alloc(seen, job)

    @invariant()
    def held_means_priority_zero_and_pending(self) -> None:
        for job in self.sim.observe().jobs:
            assert not job.held or (job.state is JobState.PENDING and job.priority == 0)

    @invariant()
    def restarts_never_become_fewer(self) -> None:
        for job in self.sim.observe().jobs:
            assert job.restarts >= self.runs.get(job.id, 0)
            self.runs[job.id] = job.restarts

    def _request(self, job: ObservedJob) -> Request:
        return self.requests[job.array_job_id or job.id]

    def _check_alloc(self, seen: Observation, job: ObservedJob) -> None:
        request = self._request(job)
        partition = next(part for part in seen.partitions if part.name == job.partitions[0])
        assert set(job.alloc) <= set(partition.nodes) - request.not_nodes
        assert all(request.features <= node.features for node in seen.nodes if node.name in job.alloc)
        if request.spread:
            got, want = total(job.alloc.values()), with_untyped(request.spread)
            assert all(got[name] >= want[name] for name in want)
            assert request.exclusive or all(got[name] == want[name] for name in want)
            return
        assert len(job.alloc) == request.nodes
        want = with_untyped(request.per_node)
        for part in job.alloc.values():
            assert all(part[name] >= want[name] for name in want)
            if not request.exclusive:
                assert {name: part[name] for name in part if not name.startswith("gpu:")} == {
                    name: want[name] for name in want if not name.startswith("gpu:")
                }


TestCluster = Cluster.TestCase
TestCluster.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def test_observations_are_plain_data() -> None:
    seen = scenario("demo").build(NOW).observe()

    assert json.dumps(asdict(seen), default=sorted)

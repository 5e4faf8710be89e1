"""Small clusters and jobs for the simulator's own tests."""

from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.adapters.simulator.state import Behaviour, SimNode, SimPartition, SimState
from scheduler.model.actions import Action, ActionKind, ActionOutcome
from scheduler.model.jobs import JobState, Request
from scheduler.model.resources import Amounts

NOW = 1_700_000_000


def cluster(
    nodes: dict[str, Amounts] | None = None,
    partitions: dict[str, tuple[str, ...]] | None = None,
    completing_s: int = 1,
) -> SimulatedCluster:
    """A cluster; by default one node of 8 CPUs in one partition `x`."""
    totals = nodes or {"n1": {"cpu": 8}}
    groups = partitions or {"x": tuple(totals)}
    state = SimState(
        "test",
        NOW,
        {name: SimNode(name, total) for name, total in totals.items()},
        {name: SimPartition(name, members) for name, members in groups.items()},
        Behaviour(completing_s=completing_s),
    )
    return SimulatedCluster(state)


def cpus(count: int, nodes: int = 1) -> Request:
    """So many CPUs on each of so many nodes."""
    return Request(nodes=nodes, per_node={"cpu": count})


def job(count: int = 8, name: str = "work", run_s: int | None = None, limit_s: int | None = None) -> JobSpec:
    """A job of so many CPUs on one node."""
    return JobSpec(name, "ann", cpus(count), run_time_s=run_s, time_limit_s=limit_s)


def state(of: SimulatedCluster, job_id: str) -> JobState | None:
    """The state of a job, None when it has ended."""
    found = of.state.jobs.get(job_id)
    return found.state if found else None


def act(on: SimulatedCluster, kind: ActionKind, job_id: str, value: str = "") -> ActionOutcome:
    """One action on the present run of a job."""
    return on.apply([Action(kind, on.job(job_id).run, value=value)])[0]

"""What Slurm checks and does when a job is submitted."""

from scheduler.adapters.simulator.jobs import HeldBy, JobSpec, SimJob
from scheduler.adapters.simulator.lifecycle import computed_priority
from scheduler.adapters.simulator.placement import SimRoom, place
from scheduler.adapters.simulator.state import SimNode, SimNodeState, SimState
from scheduler.model.jobs import JobState

KINDS_OF_DEPENDENCY = ("afterok", "afterany", "afternotok")
CLOSED = frozenset({"DRAIN", "INACTIVE"})


class SubmitError(ValueError):
    """The job was not accepted; the message says which field is wrong and what would do."""


def submit(state: SimState, spec: JobSpec) -> str:
    """Queue a job, or the tasks of an array; returns the id that `sbatch` would print."""
    partitions = spec.partitions or (next(iter(state.partitions)),)
    _check(state, spec, partitions)
    waits_for = _dependencies(state, spec.dependency)
    number = str(state.next_id)
    state.next_id += max(1, spec.array_tasks)
    ids = [f"{number}_{task}" for task in range(spec.array_tasks)] or [number]
    for job_id in ids:
        state.jobs[job_id] = SimJob(
            id=job_id,
            spec=spec,
            submit=state.now,
            priority=0 if spec.held else computed_priority(state, spec.nice),
            nice=spec.nice,
            partitions=partitions,
            comment=spec.comment,
            held=HeldBy.USER if spec.held else HeldBy.NO,
            array_job_id=number if spec.array_tasks else "",
            begin=spec.begin or 0,
            waits_for=dict(waits_for),
        )
    state.changed = True
    return number


def accepts(state: SimState, spec: JobSpec) -> bool:
    """Whether all partitions of a job take jobs at present."""
    return all(state.partitions[name].state not in CLOSED for name in spec.partitions)


def _check(state: SimState, spec: JobSpec, partitions: tuple[str, ...]) -> None:
    for name in partitions:
        if name not in state.partitions:
            raise SubmitError(
                f"partitions: there is no partition {name!r}; there are {', '.join(state.partitions)}"
            )
        if state.partitions[name].state in CLOSED:
            raise SubmitError(
                f"partitions: {name!r} takes no jobs at present ({state.partitions[name].state})"
            )
    for field_name, amount in _amounts(spec):
        if amount < 0:
            raise SubmitError(f"{field_name}: {amount} is negative")
    if bool(spec.request.spread) is bool(spec.request.nodes):
        raise SubmitError("request: either nodes and per_node, or spread")
    if not any(_fits_empty(state, spec, name) for name in partitions):
        raise SubmitError("request: Requested node configuration is not available")


def _amounts(spec: JobSpec) -> list[tuple[str, int]]:
    request = spec.request
    counts = [("array_tasks", spec.array_tasks), ("request.nodes", request.nodes)]
    return [*counts, *request.per_node.items(), *request.spread.items()]


def _fits_empty(state: SimState, spec: JobSpec, partition: str) -> bool:
    """Whether the partition could ever hold the job. One for too many nodes is queued, as in Slurm."""
    nodes = [_as_new(node) for node in state.nodes_of(partition)]
    room = SimRoom(nodes)
    if spec.request.nodes > len(nodes):
        return True
    return place(spec.request, room, nodes) is not None


def _as_new(node: SimNode) -> SimNode:
    return SimNode(node.name, node.total, node.features, SimNodeState.UP)


def _dependencies(state: SimState, text: str) -> dict[str, str]:
    """`afterok:12:13,afterany:4` as ids to kinds; an array counts with all its tasks that have not ended."""
    waits_for: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        kind, *ids = part.split(":")
        if kind not in KINDS_OF_DEPENDENCY or not ids:
            raise SubmitError(
                f"dependency: {part!r} is not one of {', '.join(KINDS_OF_DEPENDENCY)} with job ids"
            )
        for wanted in ids:
            found = [job for job in state.jobs.values() if wanted in (job.id, job.array_job_id)]
            if not found:
                raise SubmitError(f"dependency: there is no job {wanted!r}")
            waits_for |= {job.id: kind for job in found if not _is_ending(job)}
    return waits_for


def _is_ending(job: SimJob) -> bool:
    return job.state is JobState.COMPLETING and job.afterwards == "gone"

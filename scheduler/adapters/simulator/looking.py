"""What a simulated cluster looks like through the port."""

from collections.abc import Mapping

from scheduler.adapters.simulator.jobs import HeldBy, SimJob
from scheduler.adapters.simulator.placement import with_untyped
from scheduler.adapters.simulator.placing import is_put_off
from scheduler.adapters.simulator.state import SimNode, SimNodeState, SimState
from scheduler.model.jobs import JobState, ObservedJob, Request
from scheduler.model.nodes import SnapshotNode
from scheduler.model.observation import KeptNodes, Observation, ObservedPartition
from scheduler.model.resources import Amounts


def look(state: SimState) -> Observation:
    """The whole cluster now, or what its scripted faults leave of it; sorted by name and by job id."""
    faults = state.faults
    nodes = [node for node in state.nodes.values() if node.name not in faults.hidden_nodes]
    jobs = [job for job in state.jobs.values() if job.id not in faults.hidden_jobs]
    return Observation(
        cluster=state.name,
        taken_at=state.now,
        nodes=tuple(_node(state, node) for node in sorted(nodes, key=lambda node: node.name)),
        partitions=tuple(
            ObservedPartition(part.name, part.state, tuple(sorted(part.nodes)))
            for part in sorted(state.partitions.values(), key=lambda part: part.name)
        ),
        jobs=tuple(observed_job(state, job) for job in sorted(jobs, key=_id_order)),
        faults=faults.partial,
        kept=tuple(
            KeptNodes(job_id, kept.nodes, kept.until, kept.inside)
            for job_id, kept in sorted(state.kept.items())
            if state.now < kept.until
        ),
    )


def _id_order(job: SimJob) -> tuple[int, int]:
    number, _, task = job.id.partition("_")
    return int(number), int(task or -1)


def _node(state: SimState, node: SimNode) -> SnapshotNode:
    return SnapshotNode(
        name=node.name,
        up=node.state is SimNodeState.UP,
        total=node.total,
        features=node.features,
        unit=node.unit,
        power=node.power,
        health=node.health,
        state=_state_word(state, node),
        state_reason=node.reason,
        partitions=tuple(sorted(part.name for part in state.partitions.values() if node.name in part.nodes)),
    )


def _state_word(state: SimState, node: SimNode) -> str:
    if node.state is SimNodeState.DOWN:
        return "DOWN"
    here = [job for job in state.jobs.values() if node.name in job.alloc]
    if node.state is SimNodeState.DRAIN:
        return "DRAINING" if here else "DRAINED"
    if not here:
        return "IDLE"
    cpus = sum(job.alloc[node.name].get("cpu", 0) for job in here)
    return "ALLOCATED" if cpus >= node.total.get("cpu", 0) else "MIXED"


def observed_job(state: SimState, job: SimJob) -> ObservedJob:
    """One job as it looks now."""
    spec, pending = job.spec, job.state is JobState.PENDING
    return ObservedJob(
        id=job.id,
        name=spec.name,
        user=spec.user,
        state=job.state,
        partitions=job.partitions,
        submit=job.submit,
        start=job.start,
        account=spec.account,
        wckey=spec.wckey,
        comment=job.comment,
        qos=spec.qos,
        slurm_state=job.state.name,
        slurm_reason=job.reason if pending else "None",
        priority=job.priority,
        nice=job.nice,
        held=pending and job.held is not HeldBy.NO,
        restarts=job.restarts,
        batch=spec.batch,
        requeue=spec.requeue,
        time_limit_s=spec.time_limit_s,
        estimated_start=job.estimated_start if pending else None,
        eligible=max(job.submit, job.begin),
        array_job_id=job.array_job_id,
        dependency=",".join(f"{kind}:{other}" for other, kind in sorted(job.waits_for.items())),
        alloc={name: dict(part) for name, part in sorted(job.alloc.items())},
        to_be_placed=pending and is_put_off(state, job),
        request=_request(spec.request) if pending else _limits(spec.request, job.alloc),
    )


def _limits(request: Request, alloc: Mapping[str, Amounts]) -> Request | None:
    """Of a running job: where it may start again, where anything limits that."""
    if not alloc or not (request.features or request.only_nodes or request.not_nodes):
        return None
    return Request(
        nodes=len(alloc),
        per_node=dict(next(iter(alloc.values()))),
        features=request.features,
        only_nodes=request.only_nodes,
        not_nodes=request.not_nodes,
    )


def _request(request: Request) -> Request:
    return Request(
        nodes=request.nodes,
        per_node=with_untyped(request.per_node),
        spread=with_untyped(request.spread),
        features=request.features,
        only_nodes=request.only_nodes,
        not_nodes=request.not_nodes,
        exclusive=request.exclusive,
    )

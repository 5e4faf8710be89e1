"""Rows of squeue and details of scontrol made into `ObservedJob`s."""

from collections.abc import Mapping
from dataclasses import replace

from scheduler.adapters.slurm import constraints, values
from scheduler.adapters.slurm.cards import SHARES
from scheduler.adapters.slurm.details import Detail, Granted
from scheduler.adapters.slurm.rows import QueueRow
from scheduler.adapters.slurm.shapes import ClusterShape, request_of
from scheduler.model.jobs import JobState, ObservedJob, Request
from scheduler.model.resources import Amounts

_STATES = {
    **dict.fromkeys(
        # EXPEDITING: requeued by Slurm itself, to start as the first of all.
        ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD", "EXPEDITING"),
        JobState.PENDING,
    ),
    **dict.fromkeys(
        ("RUNNING", "CONFIGURING", "POWER_UP_NODE", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING"),
        JobState.RUNNING,
    ),
    **dict.fromkeys(("COMPLETING", "STAGE_OUT"), JobState.COMPLETING),
}  # fmt: skip
_MEANINGLESS_S = 300 * 24 * 3600
"""slurmctld plays a job without a time limit as one of 365 days, and a job behind it starts in a year."""
_ENDED = frozenset({
    "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "PREEMPTED",
    "REVOKED", "LAUNCH_FAILED", "RECONFIG_FAIL",
})  # fmt: skip


def state_of(row: QueueRow) -> JobState | None:
    """Where the job is; None when it has ended. Raises ValueError for a word that is not known."""
    return state_of_word(row.state)


def state_of_word(told: str) -> JobState | None:
    """What a state that Slurm prints stands for; None for an end. Raises ValueError for a word that is not known."""
    word = told.partition("+")[0]
    if word in _ENDED:
        return None
    if word not in _STATES:
        raise ValueError(f"its state {told[:40]!r} is not known")
    return _STATES[word]


def state_as_told(row: QueueRow) -> tuple[JobState | None, str]:
    """Where the job is, and what is not understood of it: its row, or its state.

    Of a state that is not known only this is: a job that has nodes holds them, and one of which nothing is told may.
    """
    try:
        return state_of(row), row.odd
    except ValueError as error:
        waits = row.state and not row.node_list
        return (JobState.PENDING if waits else JobState.RUNNING), row.odd or str(error)


def plain_alloc(row: QueueRow, room: ClusterShape) -> dict[str, Amounts] | None:
    """The exact share of a job on one node as far as squeue tells it; None when scontrol has to be asked."""
    names = values.nodes(row.node_list)
    if len(names) != 1 or names[0] not in room.totals:
        return None
    amounts, total = values.tres(row.tres), room.totals[names[0]]
    held = _gres_told(row, amounts, total, everything=room.whole_nodes(row))
    mem = values.memory(amounts.get("mem", "0"))
    if held is None or mem is None or "cpu" not in amounts:
        return None
    if room.has_cards(names) and (held.keys() & {"gpu", *SHARES} or room.whole_nodes(row)):
        return None
    share = {"cpu": values.number(amounts["cpu"])}
    if room.config.memory_counts:
        share["mem"] = mem
    return {names[0]: {name: amount for name, amount in {**share, **held}.items() if amount}}


def _gres_told(
    row: QueueRow, amounts: Mapping[str, str], total: Amounts, *, everything: bool
) -> dict[str, int] | None:
    """The generic resources of a one-node job, None when the allocated TRES do not tell them all with their types.

    Which of them are in the TRES at all depends on the site's AccountingStorageTRES. `everything`: the job has
    whole nodes, so it holds what it has not asked for.
    """
    told = values.gres_of_tres(amounts)
    asked = {
        name.partition(":")[0]
        for text in (row.per_node, row.per_job, row.per_task, row.per_socket)
        for name in values.gres(text)
    }
    on_node = {name.partition(":")[0] for name in total if name not in {"cpu", "mem"}}
    if not (asked | (on_node if everything else set())) <= told.keys():
        return None
    held = dict(told)
    for base in {name.partition(":")[0] for name in told}:
        types = [name for name in total if name.startswith(f"{base}:")]
        typed = sum(amount for name, amount in told.items() if name.startswith(f"{base}:"))
        if typed == told.get(base) or not types:
            continue
        if len(types) > 1 or base not in told:
            return None
        held[types[0]] = told[base]
    return held


def granted_alloc(row: QueueRow, detail: Granted, room: ClusterShape) -> dict[str, Amounts]:
    """The exact share of each of a job's present nodes, as far as it is told. Raises ValueError.

    Of a completing job the GPUs are told as a sum only: taken as even shares, until they come free in a moment. Of a
    job that has grown while it ran (`permit_job_expansion`) the nodes that it got then are not told.
    """
    shares: dict[str, Amounts] = {}
    count = sum(len(grant.nodes) for grant in detail.grants)
    untold = detail.state == "COMPLETING" and not any(grant.gres for grant in detail.grants)
    coming = (
        {name: values.ceil_share(amount, count) for name, amount in detail.job_gres}
        if untold and count
        else {}
    )
    for grant in detail.grants:
        mem = grant.mem if room.config.memory_counts else 0
        share = {"cpu": grant.cpus, "mem": mem, **coming, **dict(grant.gres)}
        held = {name: amount for name, amount in share.items() if amount}
        shares.update(dict.fromkeys(grant.nodes, held))
    return {name: shares[name] for name in values.nodes(row.node_list) if name in shares}


def inner_of(
    row: QueueRow,
    detail: Granted | None,
    alloc: Mapping[str, Amounts],
    before: ObservedJob | None,
    room: ClusterShape,
) -> dict[str, Amounts]:
    """What a job holds of each card of its nodes. Of a completing job that is not told: it may be any. Raises
    ValueError."""
    if not room.has_cards(alloc):
        return {}
    if detail is None:
        known = (
            before.inner if before and (before.start, before.restarts) == (row.start, row.restarts) else {}
        )
        return {name: known[name] for name in alloc if name in known}
    told = {name: grant.told for grant in detail.grants for name in grant.nodes if name in alloc}
    found: dict[str, Amounts] = {}
    for name, gres in told.items():
        cards = room.layouts[name].cards if name in room.layouts else None
        if cards is not None:
            untold = not gres and any(kind in alloc[name] for kind in ("gpu", *SHARES))
            found[name] = cards.inner if untold else cards.held(gres)
    return {name: held for name, held in found.items() if held}


def remembered_alloc(row: QueueRow, before: ObservedJob | None) -> dict[str, Amounts] | None:
    """The share that was seen before, while nothing has changed or a part of the nodes has come free already."""
    if before is None or not before.alloc:
        return None
    names = values.nodes(row.node_list)
    if not names or any(name not in before.alloc for name in names):
        return None
    if state_of(row) is not JobState.COMPLETING:
        cpus = sum(share.get("cpu", 0) for share in before.alloc.values())
        same_run = (before.start, before.restarts) == (row.start, row.restarts)
        if not same_run or len(names) != len(before.alloc) or cpus != row.cpus:
            return None
    return {name: before.alloc[name] for name in names}


def limits_of(row: QueueRow, told: Granted | None, before: ObservedJob | None) -> Request | None:
    """Where a running job may start again, as far as its words limit that; None where they do not.

    The nodes that it named are told by scontrol, or were told before. One whose constraint is not understood stays
    where it is.
    """
    known = before.request if before is not None and before.request is not None else Request()
    only = frozenset(told.req_nodes) if told is not None else known.only_nodes
    never = frozenset(told.exc_nodes) if told is not None else known.not_nodes
    if not (row.feature or only or never):
        return None
    names = values.nodes(row.node_list)
    constraint = constraints.decode(row.feature).on(len(names))
    if not constraint.understood:
        only = frozenset(names)
    return Request(
        features=constraint.features,
        any_of=constraint.any_of,
        same_of=constraint.same_of,
        counted=constraint.counted,
        only_nodes=only,
        not_nodes=never,
    )


def running(
    row: QueueRow,
    state: JobState,
    alloc: Mapping[str, Amounts],
    not_understood: str = "",
    limits: Request | None = None,
) -> ObservedJob:
    """A job that holds resources. `limits`: where it may start again."""
    if row.start is None and state is JobState.RUNNING and not not_understood:
        not_understood = "it runs but has no start time"
    if row.state.startswith("SUSPENDED") and row.priority == 0:
        # Slurm gives the CPUs of a job that a person has suspended to others, but neither its memory nor its GPUs. One
        # that Slurm itself has suspended for another keeps its priority, and gets its CPUs back as soon as they are
        # free: nobody else does, so it holds them.
        alloc = {node: {k: v for k, v in share.items() if k != "cpu"} for node, share in alloc.items()}
    if limits is not None:
        limits = replace(limits, nodes=len(alloc), per_node=_largest(alloc)) if alloc else None
    return _job(row, state, alloc=alloc, start=row.start, not_understood=not_understood, request=limits)


def _largest(alloc: Mapping[str, Amounts]) -> Amounts:
    return max(alloc.values(), key=lambda held: sorted(held.values(), reverse=True))


def pending(row: QueueRow, detail: Detail, room: ClusterShape) -> ObservedJob:
    """A job that waits. Raises ValueError when its wishes do not decode."""
    request, unplannable = request_of(row, detail, room)
    return _job(
        row,
        JobState.PENDING,
        request=request,
        unplannable=unplannable,
        held=row.priority == 0,
        licenses=detail.licenses,
    )


def waiting(row: QueueRow, why: str, *, of_its_row: bool = False) -> ObservedJob:
    """A job that waits, of which we do not understand what it asks for, or even (`of_its_row`) what becomes of it."""
    if of_its_row:
        return _job(row, JobState.PENDING, unplannable=why, not_understood=why)
    return _job(row, JobState.PENDING, unplannable=why, held=row.priority == 0)


def _expected(row: QueueRow) -> int | None:
    """When Slurm expects it to start; None also where it only counts jobs without a time limit as a year long."""
    if row.start is None or row.start - max(row.submit, row.eligible or 0) > _MEANINGLESS_S:
        return None
    return row.start


def _job(row: QueueRow, state: JobState, **more: object) -> ObservedJob:
    waits = state is JobState.PENDING
    return ObservedJob(
        id=row.id,
        name=row.name,
        user=row.user,
        state=state,
        partitions=row.partitions,
        submit=row.submit,
        account=row.account,
        wckey=row.wckey,
        comment=row.comment,
        qos=row.qos,
        slurm_state=row.state,
        slurm_reason=row.reason,
        priority=row.priority,
        nice=row.nice,
        restarts=row.restarts,
        batch=row.batch,
        # A heterogeneous job is requeued by its leader, which takes all parts with it.
        requeue=row.requeue and row.het_id in {"", row.raw_id},
        time_limit_s=row.limit_s,
        deadline=row.deadline,
        estimated_start=_expected(row) if waits else None,
        eligible=row.eligible,
        array_job_id=row.array_id,
        het_job_id=row.het_id,
        reservation=row.reservation,
        dependency=row.dependency,
        **more,  # type: ignore[arg-type]
    )

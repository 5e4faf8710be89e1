"""Small jobs on kept nodes: those that are expected to have ended before the job comes that the nodes are kept for."""

from collections.abc import Mapping, Sequence

from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.resources import Amounts, add, covers, subtract
from scheduler.model.snapshot import Snapshot

MARGIN_S = 5
"""So much sooner than the other one comes a guest is to have ended: it takes a moment to start and to leave."""
_WAITING = frozenset({DecisionKind.QUEUE, DecisionKind.RESERVE})


def guests(
    snapshot: Snapshot,
    decisions: Sequence[Decision],
    kept: Decision,
    run_s: Mapping[str, float],
    usable: Sequence[str],
) -> dict[str, tuple[str, ...]]:
    """Who may run on nodes that are kept for `kept.job` until `kept.at`: by job, in the order of the decisions, which
    of the nodes it may have meanwhile.

    `run_s`: how long each job runs at most, nine times out of ten; one of which nothing is known is no guest.
    `usable`: the kept nodes that nobody else has been let onto. A guest gets its nodes for itself until it has started,
    so each is given once. Only requests for whole nodes' worth of plain wishes are looked at: of units, spread amounts
    and sets of features it would have to be planned, and they wait as ever.
    """
    if kept.at is None:
        return {}
    left = kept.at - snapshot.now - MARGIN_S
    jobs = {job.id: job for job in snapshot.jobs}
    nodes = [node for node in snapshot.nodes if node.name in set(usable) and node.up]
    free = {node.name: _free(node, snapshot) for node in nodes}
    found: dict[str, tuple[str, ...]] = {}
    for decision in decisions:
        job = jobs.get(decision.job)
        if job is None or decision.job == kept.job or decision.action not in _WAITING or job.blocked:
            continue
        if job.id not in run_s or run_s[job.id] > left:
            continue
        names = _fitting(job, [node for node in nodes if node.name in free], free)
        for name in names:
            del free[name]
        if names:
            found[job.id] = names
    return found


def _fitting(job: SnapshotJob, nodes: Sequence[SnapshotNode], free: Mapping[str, Amounts]) -> tuple[str, ...]:
    """The nodes that the job would get, as many as it wants; none where it cannot be said, or where it does not fit."""
    request = job.request
    if request is None or not request.nodes or request.any_of or request.same_of or request.counted:
        return ()
    if job.balanced or request.spread or request.unit or request.one_of or request.in_unit:
        return ()
    fit = [
        node.name
        for node in nodes
        if request.features <= node.features
        and node.name not in request.not_nodes
        and (not request.only_nodes or node.name in request.only_nodes)
        and covers(free[node.name], request.per_node)
        and not (request.exclusive and dict(free[node.name]) != dict(node.total))
    ]
    return tuple(fit[: request.nodes]) if len(fit) >= request.nodes else ()


def _free(node: SnapshotNode, snapshot: Snapshot) -> dict[str, int]:
    """What nobody holds of a node now; what is still coming free is not there yet."""
    free = dict(node.total)
    taken: dict[str, int] = {}
    for part in (node.held_elsewhere, node.coming_elsewhere):
        add(taken, part)
    for job in snapshot.jobs:
        if job.state is not JobState.PENDING:
            add(taken, job.alloc.get(node.name, {}))
    subtract(free, taken)
    return free

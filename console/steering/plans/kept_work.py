"""Of a plan that takes workers from elastic jobs: what they give up, and the work of those that stay, which would have
been lost by a stop."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from console.steering.work import Work, add_work, work_of
from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.plan import DecidedVictim, How, Shrinking
from scheduler.model.resources import Amounts, total
from scheduler.priority.order import natural


def keep_of_shrunk(victims: Iterable[dict[str, Any]], jobs: Collection[SnapshotJob], now: int) -> None:
    """Note it, as `kept`, with the first worker that each elastic job loses. `now`: the cluster's clock."""
    victims = list(victims)
    _keep_in_place([victim for victim in victims if victim.get("by") == Shrinking.INPLACE], jobs, now)
    first: dict[str, dict[str, Any]] = {}
    gone = set()
    for victim in victims:
        if group := victim.get("worker_of"):
            first.setdefault(group, victim)
        gone.add(victim["job"])
    kept: dict[str, Work] = {group: {} for group in first}
    for job in jobs if first else ():
        if job.group in first and job.state is JobState.RUNNING and job.id not in gone:
            ran = now - (job.start or now)
            add_work(kept[job.group], work_of({"amounts": total(job.alloc.values()), "ran_s": ran}))
    for group, victim in first.items():
        victim["kept"] = kept[group]


def _keep_in_place(victims: Iterable[dict[str, Any]], jobs: Collection[SnapshotJob], now: int) -> None:
    by_id = {job.id: job for job in jobs} if victims else {}
    for victim in victims:
        job = by_id[victim["job"]]
        stays = total(job.alloc[node] for node in victim["keeps"])
        victim["kept"] = work_of({"amounts": stays, "ran_s": now - (job.start or now)})


def smaller(victim: DecidedVictim, job: SnapshotJob) -> dict[str, Any]:
    """Of a job that gives up `nodes`: those, `by` which way, the ones that it `keeps`, what it has on `each` of
    these, and the `least` that it needs. Of one that exchanges nodes: `exchanged`.

    Empty for any other victim.
    """
    if victim.how is How.SWAP:
        return exchanged(victim, job)
    if victim.how is not How.NODES or victim.by is None:
        return {}
    keeps = sorted(job.alloc.keys() - set(victim.nodes), key=natural)
    each = {node: dict(job.alloc[node]) for node in keeps}
    return {
        "nodes": list(victim.nodes),
        "keeps": keeps,
        "each": each,
        "by": victim.by.value,
        "least": victim.least,
    }


def exchanged(victim: DecidedVictim, job: SnapshotJob) -> dict[str, Any]:
    """Of a job that exchanges `nodes` for those that it `gets`: these, and what it is to have on `each` node then."""
    instead = dict(zip(victim.nodes, victim.gets, strict=True))
    each = {instead.get(node, node): dict(held) for node, held in job.alloc.items()}
    return {"nodes": list(victim.nodes), "gets": list(victim.gets), "each": each}


def lost_of(job: SnapshotJob, less: Mapping[str, Any]) -> Mapping[str, Amounts]:
    """What a victim loses of what it holds: all, but of one that gives up nodes while it runs only these."""
    if less.get("by") != Shrinking.INPLACE:
        return job.alloc
    return {node: job.alloc[node] for node in less["nodes"]}

"""For whom nodes are to be kept: in each partition with managed dispatch for the first job that has to wait for its
moment, and for small jobs that may run there meanwhile.

Nothing is kept where plans are not enforced, where the partition is paused or a failure holds it: then nobody is wished
for, and what was kept is let go.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from console.cluster.models import Cluster
from console.forecasts.selectors import longest_runs
from console.steering.decisions.deciding import Verdicts
from console.steering.models import KeptPlace
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.observation import Observation
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import Dispatch, Enforcement
from scheduler.reconcile.guests import guests

STARTS_WITHIN_S = 15
"""A guest that has not started so long after its nodes were given to it does not get them any more."""
REST_S = 60
"""How long it is then not tried again."""
MOST_GUESTS = 4
"""So many are let in at the same time."""
STAYS_S = 10
"""So long a place is at least kept where it is, unless one of its nodes fails: forecasts change every second."""


_SOON = frozenset({DecisionKind.START, DecisionKind.WAIT})
"""It starts now, or when those have gone that are ending."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Nodes that are to be kept for a job, and when it is expected to start there. `for_next`: it still runs, and will
    be stopped to start there."""

    partition: str
    job: ObservedJob
    nodes: tuple[str, ...]
    at: int
    guest_of: str = ""
    for_next: bool = False


def wishes(
    cluster: Cluster,
    verdicts: Iterable[Verdicts],
    observation: Observation,
    places: Mapping[str, KeptPlace],
    holds: Callable[[str], bool],
    before: Sequence[Wish] = (),
) -> list[Wish]:
    """All of them, hosts before their guests. No job and no node is in two, nor in one of those that come `before`.
    `holds`: whether a failure holds a partition."""
    jobs = {job.id: job for job in observation.jobs if job.state is JobState.PENDING}
    for wish in before:
        jobs.pop(wish.job.id, None)
    found: list[Wish] = []
    given = {name for wish in before for name in wish.nodes}
    for verdict in verdicts:
        if not may_keep(verdict) or holds(verdict.facts.row.name):
            continue
        decision = _first(verdict.decisions, jobs, places, {wish.job.id for wish in found})
        if decision is None or given.intersection(decision.nodes):
            continue
        nodes = _settled(decision, places.get(decision.job), observation)
        given.update(nodes)
        host = Wish(verdict.facts.row.name, jobs[decision.job], nodes, decision.at or observation.taken_at)
        found += _with_guests(cluster, host, verdict, decision, jobs, places)
    return found


def may_keep(verdict: Verdicts) -> bool:
    """Whether the partition's policy wants nodes kept, and nothing speaks against doing anything there."""
    facts = verdict.facts
    managed = facts.policy.dispatch is Dispatch.MANAGED
    return (
        managed
        and facts.policy.enforcement == Enforcement.ENFORCE
        and not (facts.paused or verdict.is_undecided)
    )


def _first(
    decisions: Sequence[Decision],
    jobs: Mapping[str, ObservedJob],
    places: Mapping[str, KeptPlace],
    others: set[str],
) -> Decision | None:
    """The first that nodes are to be kept for; one for which they were kept so far has them until it runs."""
    for decision in decisions:
        place = places.get(decision.job)
        starts = decision.action in _SOON and place is not None and not place.guest_of
        if not (starts or decision.action is DecisionKind.RESERVE) or not decision.nodes:
            continue
        if decision.job in jobs and decision.job not in others and decision.units is None:
            return None if decision.lead or decision.tasks else decision
    return None


def _settled(decision: Decision, place: KeptPlace | None, observation: Observation) -> tuple[str, ...]:
    """The nodes of a decision, or those that are kept already, as long as they were for a moment only."""
    up = {node.name for node in observation.nodes if node.up}
    wanted = tuple(sorted(decision.nodes))
    if place is None or place.guest_of or len(place.nodes) != len(wanted) or not up.issuperset(place.nodes):
        return wanted
    return tuple(place.nodes) if observation.taken_at - place.moved < STAYS_S else wanted


def _with_guests(
    cluster: Cluster,
    host: Wish,
    verdict: Verdicts,
    decision: Decision,
    jobs: Mapping[str, ObservedJob],
    places: Mapping[str, KeptPlace],
) -> list[Wish]:
    now = verdict.snapshot.now
    known = [place for place in places.values() if place.guest_of == host.job.id]
    staying = [
        Wish(host.partition, jobs[place.job_id], tuple(place.nodes), place.at, host.job.id)
        for place in known
        if place.job_id in jobs and now - place.since < STARTS_WITHIN_S and not place.refused
    ]
    taken = {name for wish in staying for name in wish.nodes}
    tried = {place.job_id for place in known}
    run_s = {} if len(staying) >= MOST_GUESTS else longest_runs(cluster, jobs.keys() - tried)
    usable = [name for name in host.nodes if name not in taken]
    fresh = guests(verdict.snapshot, verdict.decisions, decision, run_s, usable) if run_s else {}
    return [
        host,
        *staying,
        *(
            Wish(host.partition, jobs[guest], nodes, now, host.job.id)
            for guest, nodes in islice(fresh.items(), max(0, MOST_GUESTS - len(staying)))
        ),
    ]

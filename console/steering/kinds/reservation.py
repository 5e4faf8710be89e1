"""For whom nodes are to be kept: in each partition with managed dispatch for the first job that has to wait for its
moment, and for small jobs that may run there meanwhile.

Nothing is kept where plans are not enforced, where the partition is paused or a failure holds it: then nobody is wished
for, and what was kept is let go.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db.models import QuerySet

from console.cluster.models import Cluster
from console.cluster.services import show_change
from console.forecasts.selectors import longest_runs
from console.steering.context import CycleContext
from console.steering.deciding import Verdicts
from console.steering.journal import tell_kept
from console.steering.kinds.swap import room_of_runner, run_of_runner, runner_of, under_way
from console.steering.ledger import execute
from console.steering.models import KeptPlace, Plan
from scheduler.model.actions import Action, ActionKind, ActionOutcome, OutcomeKind, keep_value
from scheduler.model.jobs import JobState, ObservedJob, RunKey
from scheduler.model.observation import Observation
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import Dispatch, Enforcement
from scheduler.model.sentence import say
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


# Having nodes kept: made, moved, renewed and let go, written down before it is asked for.
#
# What is kept ends by itself `KEPT_S` after it was last renewed (`ActionKind.KEEP`), so that nothing is left of it when
# no cycle comes any more. What this Giveway has not asked for it leaves alone: another one may have.
#
# 1. Who is not wished for any more is let go: the job runs or has left, another one comes first, or the partition does
#    not keep nodes just now.
# 2. Whoever is wished for gets its nodes, without those that a guest of it has. A host that has let guests onto all of
#    its nodes has none until they run.
# 3. Only what is new, has moved, or ends soon is asked for; what was refused or not answered, a little later again.

# --- The node sets that are kept while a node is exchanged: for the job that waits, and for the next run of the other.
# Each is let go when its job runs there, when the exchange is given up, and when one of its nodes fails: then its job
# starts wherever the cluster likes.


def exchange_wishes(
    plans: Iterable[Plan], observation: Observation, holds: Callable[[str], bool]
) -> list[Wish]:
    """What is to be kept for exchanges. `holds`: whether a failure holds a partition."""
    going = [plan for plan in under_way(plans) if not holds(plan.partition)]
    if not going:
        return []
    jobs = observation.jobs_by_id
    up = {node.name for node in observation.nodes if node.up}
    return [
        wish for plan in going for wish in _of(plan, jobs, observation.taken_at) if up.issuperset(wish.nodes)
    ]


def _of(plan: Plan, jobs: Mapping[str, ObservedJob], now: int) -> Iterator[Wish]:
    job, runner = jobs.get(plan.job_id), jobs.get(runner_of(plan)["job"])
    if job is not None and job.state is JobState.PENDING:
        yield _wish(plan, job, plan.placement, now)
    if runner is None:
        return
    runs = runner.run == run_of_runner(plan) and runner.state is JobState.RUNNING
    completes = runner.state is JobState.COMPLETING
    if runs or completes or runner.state is JobState.PENDING:
        yield _wish(plan, runner, room_of_runner(plan), now, for_next=runs or completes)


def _wish(plan: Plan, job: ObservedJob, nodes: Collection[str], now: int, *, for_next: bool = False) -> Wish:
    return Wish(plan.partition, job, tuple(sorted(nodes)), now, for_next=for_next)


KEPT_S = 60
"""So long after it was last renewed it ends by itself; Slurm forgets it within half a minute more."""
RENEW_S = 35
"""It is renewed when it would end so soon."""
AGAIN_S = 3
"""So long after it was asked for in vain it is asked for again."""
LONGEST_WORDS = 200


def places(cluster: Cluster) -> dict[str, KeptPlace]:
    """All there are, by job."""
    found = {place.job_id: place for place in _places(cluster.pk)}
    for place in found.values():
        place.cluster = cluster
    return found


def _places(cluster: int) -> QuerySet[KeptPlace]:
    return KeptPlace.objects.filter(cluster=cluster)


def keep_nodes(
    cluster: Cluster, context: CycleContext, verdicts: Iterable[Verdicts], before: Sequence[Wish] = ()
) -> int:
    """Bring what is kept in line with the decisions; how many jobs were asked for. `before`: wishes that come after
    those of exchanges under way, and before the others."""
    known = places(cluster)
    first = exchange_wishes(context.plans, context.observation, context.failures.holds)
    first += _beside(before, first)
    wished = first + wishes(cluster, verdicts, context.observation, known, context.failures.holds, first)
    asked = let_go(cluster, context, [place for place in known.values() if _is_over(place, wished)])
    hosts = [wish for wish in wished if not wish.guest_of]
    for some in (hosts, [wish for wish in wished if wish.guest_of]):  # a host gives its node up first
        asked += _keep(cluster, context, some, wished, known)
    return asked


def _beside(before: Iterable[Wish], first: Sequence[Wish]) -> list[Wish]:
    """Those that share neither job nor node with one that comes first."""
    jobs, nodes = {wish.job.id for wish in first}, {name for wish in first for name in wish.nodes}
    return [wish for wish in before if wish.job.id not in jobs and not nodes.intersection(wish.nodes)]


def _is_over(place: KeptPlace, wished: Sequence[Wish]) -> bool:
    return all(place.job_id != wish.job.id for wish in wished)


def let_go(cluster: Cluster, context: CycleContext, leaving: Sequence[KeptPlace]) -> int:
    """Keep nothing for these any more; a guest that may not be tried again soon is remembered."""
    jobs, now = context.observation.jobs_by_id, context.observation.taken_at
    due = [place for place in leaving if place.until]
    rested = [place for place in leaving if not place.until and _is_rested(place, jobs, now)]
    if not due and not rested:
        return 0

    def claim() -> list[tuple[KeptPlace, Action]]:
        for place in due:
            tell_kept(place, reason=_why(place, jobs))
            place.until, place.nodes = 0, []
            place.save(update_fields=["until", "nodes"])
        over = [place for place in (*rested, *due) if _is_rested(place, jobs, now)]
        KeptPlace.objects.filter(pk__in=[place.pk for place in over]).delete()
        if due:
            show_change(cluster)
        return [(place, Action(ActionKind.LET_GO, RunKey(place.job_id, 0))) for place in due]

    return execute(context, ActionKind.LET_GO, claim)  # What cannot be let go ends by itself.


def _is_rested(place: KeptPlace, jobs: Mapping[str, ObservedJob], now: int) -> bool:
    job = jobs.get(place.job_id)
    waits = job is not None and job.state is JobState.PENDING
    return not (place.guest_of and waits) or now - place.since >= REST_S


def _why(place: KeptPlace, jobs: Mapping[str, ObservedJob]) -> str:
    job = jobs.get(place.job_id)
    if job is None or job.state is JobState.COMPLETING:
        return say("kept.gone")
    return say("kept.waits" if job.state is JobState.PENDING else "kept.runs")


def _keep(
    cluster: Cluster,
    context: CycleContext,
    wishes: Sequence[Wish],
    all_wishes: Sequence[Wish],
    known: Mapping[str, KeptPlace],
) -> int:
    now = context.observation.taken_at
    due = []
    for wish in wishes:
        theirs = {name for each in all_wishes if each.guest_of == wish.job.id for name in each.nodes}
        nodes = [name for name in wish.nodes if name not in theirs]
        place = known.get(wish.job.id) or _new(cluster, wish, now)
        if _is_due(place, nodes, context, for_next=wish.for_next):
            due.append((place, wish, nodes))
    if not due:
        return 0

    def claim() -> list[tuple[KeptPlace, Action]]:
        for place, wish, nodes in due:
            _write(place, wish, nodes, now)
        show_change(cluster)
        return [(place, _action(place, wish)) for place, wish, _ in due]

    return execute(context, ActionKind.KEEP, claim, _settle)


def _settle(outcomes: Iterable[tuple[KeptPlace, ActionOutcome]]) -> None:
    for place, outcome in outcomes:
        if outcome.kind in {OutcomeKind.REFUSED, OutcomeKind.GONE, OutcomeKind.UNKNOWN}:
            place.refused = "" if outcome.ok else outcome.detail[:LONGEST_WORDS]
            place.save(update_fields=["refused"])


def _new(cluster: Cluster, wish: Wish, now: int) -> KeptPlace:
    return KeptPlace(cluster=cluster, job_id=wish.job.id, since=now, moved=now, until=0, asked=0, nodes=[])


def _is_due(place: KeptPlace, nodes: Sequence[str], context: CycleContext, *, for_next: bool) -> bool:
    now = context.observation.taken_at
    seen = {kept.job_id: kept for kept in context.observation.kept}.get(place.job_id)
    if not nodes and seen is None:
        return False
    is_so = seen is not None and set(seen.nodes) == set(nodes) and seen.until - now > RENEW_S
    joins = seen is not None and not seen.inside and not for_next
    return joins or (not is_so and (place.nodes != sorted(nodes) or now - place.asked >= AGAIN_S))


def _write(place: KeptPlace, wish: Wish, nodes: Sequence[str], now: int) -> None:
    moved = place.nodes != sorted(nodes)
    if moved:
        place.nodes, place.moved = sorted(nodes), now
    place.partition, place.user = wish.partition, wish.job.user[:64]
    place.at, place.guest_of = wish.at, wish.guest_of
    place.asked, place.until, place.refused = now, now + KEPT_S, ""
    place.save()
    if moved:
        tell_kept(place)


def _action(place: KeptPlace, wish: Wish) -> Action:
    """A host that has let guests onto all its nodes keeps none for a moment."""
    if not place.nodes:
        return Action(ActionKind.LET_GO, wish.job.run)
    return Action(
        ActionKind.KEEP, wish.job.run, value=keep_value(place.until, place.nodes, for_next=wish.for_next)
    )

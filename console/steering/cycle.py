"""One cycle: observe, verify what was issued, decide, record and intend, act.

Correct with the timer alone: a cycle reads all state and writes the difference; it remembers nothing of the one
before but what is in the database, and what only saves work (`_KNOWN`, `_PLANS`). One at a time per
cluster (`lease`); whoever finds it taken leaves.
Whatever is raised in it ends here (`failures`): the cycle has failed, and until one has ended well nobody is stopped
(`close_cycle`).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import structlog
from django.db import transaction

from console.audit.services import recorded_together
from console.cluster.connect import connect, connect_benchmarks
from console.cluster.models import Cluster
from console.cluster.services import note_cycle, write_jobs, write_nodes
from console.core.failpoints import failpoint
from console.partitions.services import ensure_partition
from console.power.measuring import make_room
from console.power.selectors import with_powers, without_measurements
from console.steering import checkpoints
from console.steering import lease as leases
from console.steering.context import CycleContext
from console.steering.cycle_report import Report, asked, observe, shown
from console.steering.deciding import KeptCycle, OpenPlans, Verdicts, decide_all, open_plans, startable
from console.steering.facts import Facts, PartitionFacts, gather, held_together, partition_policies, ways_of
from console.steering.failed_starts import watch_starts
from console.steering.failures import Failures, begin_cycle, close_cycle
from console.steering.holds import free_orphaned_holds
from console.steering.intents import intend_in_partition
from console.steering.journal import tell_cluster
from console.steering.kinds.begin_time import choose, place_jobs, wishes_of
from console.steering.kinds.nice import put_line_in_order
from console.steering.kinds.requeueable import allow_requeues
from console.steering.kinds.reservation import keep_nodes
from console.steering.ledger import act
from console.steering.lines import as_seen, first_submissions, put_first, work_out
from console.steering.metrics import count
from console.steering.mirror import JobCounts, rows
from console.steering.models import BEGUN_STATES, Plan, PlanState
from console.steering.past import recall, remember
from console.steering.signals import observed
from console.steering.submit_rules import write_submit_rules
from console.steering.verifying import verify
from console.steering.victims import Following, ask_after, followed_jobs
from scheduler.model.observation import Observation
from scheduler.preemption import collector
from scheduler.reconcile.build import KnownJobs

log = structlog.get_logger(__name__)

_KNOWN: dict[int, dict[str, KnownJobs]] = defaultdict(lambda: defaultdict(KnownJobs))
"""By cluster and partition. Saves work and nothing else: whatever it holds, the decisions are the same."""
_PLANS: dict[int, OpenPlans] = {}
"""By cluster, as the last cycle left them; nothing after one that failed. Saves work and nothing else, too."""


def run_cycle(cluster: Cluster) -> Report | None:
    """Run one whole cycle; None when another one is under way. What is raised in it, or kept it from seeing: `fault`.

    Raises only where no lease can be had, or given back, from the database.
    """
    lease = leases.take(cluster)
    if lease is None:
        return None
    try:
        failpoint("cycle.leased")
        # What a cycle makes lives until it is done, and is freed then without the collector.
        with lease.keep_alive(), collector.paused():
            return _run(cluster, lease)
    except leases.LeaseLostError as error:
        # Not a defect: this process stood still, and another one goes on with what is written down.
        log.warning("cycle given up", reason=str(error))
        return None
    finally:
        structlog.contextvars.unbind_contextvars("cluster", "cycle")
        lease.release()


def _run(cluster: Cluster, lease: leases.Lease) -> Report:
    report, failures = Report(number=cluster.cycle + 1), Failures()
    observation = None
    try:
        cluster.refresh_from_db()
        report.number = cluster.cycle + 1
        structlog.contextvars.bind_contextvars(cluster=cluster.name, cycle=report.number)
        failures = begin_cycle(cluster, lease)
        adapter = connect(cluster)
        with report.phase("observe"):
            observation = observe(cluster, adapter, lease, report)
        failpoint("cycle.observed")
        if observation is not None:
            observation = with_powers(cluster, recall(cluster, observation))
            _steer(cluster, CycleContext(adapter, observation, lease, failures), report)
    except leases.LeaseLostError:
        raise
    except Exception as error:  # noqa: BLE001 - a cycle that raises has failed; the worker goes on
        failures.add(error)
    _close(cluster, lease, report, failures, seen=observation is not None)
    failpoint("cycle.closed")
    if observation is not None:
        observed.send_robust(sender=None, cluster=cluster, observation=observation)
    return report


def _close(cluster: Cluster, lease: leases.Lease, report: Report, failures: Failures, *, seen: bool) -> None:
    """Count the cycle and write down how it ended."""
    meter = None
    with failures.kept(), transaction.atomic():
        meter = count(cluster, report)
    if failures.found:
        meter = None  # It may have been rolled back.
    close_cycle(cluster, lease, failures, report.number, seen=seen, meter=meter)
    if failures.found:
        report.has_failed = True
        report.fault = f"The cycle failed in {failures.found[0].what}"


def _steer(cluster: Cluster, context: CycleContext, report: Report) -> None:
    """Everything after a good look. What one part raises does not keep the next from taking back what was begun."""
    failures, policies = context.failures, None
    kept = KeptCycle(cluster, report.number, _PLANS.pop(cluster.pk) if cluster.pk in _PLANS else OpenPlans())
    with report.phase("verify"), failures.kept():
        jobs = context.observation.jobs_by_id
        followed = followed_jobs(cluster)
        endings = ask_after(followed, jobs, context.adapter)
        with transaction.atomic():
            context.lease.renew()
            kept.plans.begin(cluster)
            plans = kept.plans.now()
            with failures.kept(), transaction.atomic():
                watch_starts(cluster, context.observation, plans)
            following = Following(cluster, jobs, endings, nobody=not followed)
            found = _policies(cluster, context.observation)
            _verify(following, plans, found, context, report)
            failpoint("cycle.verifying")
            # An incident may have paused a partition meanwhile.
            policies = partition_policies(cluster) if following.paused else found
    failpoint("cycle.verified")
    verdicts: list[Verdicts] = []
    if policies is not None:
        with failures.kept():
            verdicts = _decide(cluster, context, policies, report, kept)
    with report.phase("act"):
        _carry_out(cluster, context, verdicts, policies or {}, report)
    failpoint("cycle.acted")
    with failures.kept():
        kept.close(report, failures)
        if verdicts and not any(verdict.is_undecided for verdict in verdicts):
            write_submit_rules(cluster, verdicts)
    if not failures.found:
        _PLANS[cluster.pk] = kept.plans


def _carry_out(
    cluster: Cluster,
    context: CycleContext,
    verdicts: Sequence[Verdicts],
    policies: Mapping[str, PartitionFacts],
    report: Report,
) -> None:
    """What is due of the plans, then what is kept, who begins, and who is first in Slurm's line."""
    failures = context.failures
    plans = open_plans(cluster, BEGUN_STATES)
    context.plans.extend(plans)
    with failures.kept():
        allow_requeues(context, policies, plans)
    report.issued = act(plans, context)
    with failures.kept():
        make_room(cluster, context.observation, connect_benchmarks(cluster), context.lease.renew)
    with failures.kept():
        chosen = choose(verdicts, context.observation, failures.holds, context.plans)
        report.kept = keep_nodes(cluster, context, verdicts, wishes_of(chosen, context.observation.taken_at))
        report.begun = place_jobs(cluster, context, chosen)
    with failures.kept():
        report.placed = put_line_in_order(cluster, context)


def _verify(
    following: Following,
    plans: Sequence[Plan],
    policies: Mapping[str, PartitionFacts],
    context: CycleContext,
    report: Report,
) -> None:
    """Plan by plan: what is raised about one is rolled back, and the others' victims go on."""
    cluster, jobs, failures = following.cluster, following.jobs, context.failures
    report.open_before, report.asked_before = shown(plans), asked(plans)
    following.held = held_together(plans)
    with failures.kept(), transaction.atomic():
        checkpoints.watch(cluster, jobs)
    for plan in plans:
        if plan.state == PlanState.EXECUTING:
            with failures.kept(plan.partition), transaction.atomic():
                verify([plan], following, policies, context.lease)
    with failures.kept(), transaction.atomic():
        following.settle_others(plans)
    with failures.kept(), transaction.atomic():
        free_orphaned_holds(cluster, jobs)


def _decide(
    cluster: Cluster,
    context: CycleContext,
    policies: Mapping[str, PartitionFacts],
    report: Report,
    kept: KeptCycle,
) -> list[Verdicts]:
    """Decide, and write down what was decided."""
    with report.phase("decide"):
        ways = ways_of(cluster, context.adapter, context.observation.jobs)
        facts = gather(cluster, kept.plans.now(), policies, ways)
        planned_on = without_measurements(cluster, context.observation)
        verdicts = decide_all(planned_on, facts, context.failures, _KNOWN[cluster.pk])
    with report.phase("record"), transaction.atomic():
        context.lease.renew()
        _record(context, facts, verdicts, report, kept)
        failpoint("cycle.recording")
    failpoint("cycle.recorded")
    return verdicts


def _policies(cluster: Cluster, observation: Observation) -> dict[str, PartitionFacts]:
    """The policies in force; a partition seen for the first time gets one, in shadow."""
    policies = partition_policies(cluster)
    new = [partition.name for partition in observation.partitions if partition.name not in policies]
    for name in new:
        ensure_partition(cluster=cluster, name=name)
    return partition_policies(cluster) if new else policies


def _record(
    context: CycleContext, facts: Facts, verdicts: list[Verdicts], report: Report, kept: KeptCycle
) -> None:
    """The mirror and the intents, in the caller's transaction."""
    cluster, before = kept.cluster, startable(kept.cluster)
    observed_jobs = context.observation.jobs_by_id
    with recorded_together():
        for verdict in verdicts:
            if not verdict.is_undecided:  # the plans of one that is stay as they are
                intend_in_partition(context, facts, verdict, report, kept, before)
    open_now = kept.plans.now()
    had_fault = cluster.fault
    remember(cluster, context.observation)
    context.lines.by_partition = work_out(
        verdicts,
        observed_jobs,
        as_seen(cluster, observed_jobs),
        first_submissions(cluster, context.observation.jobs),
        put_first(open_now),
        context.failures.holds,
    ).by_partition
    jobs = rows(
        cluster, context.observation, verdicts, open_now, JobCounts(facts.preemptions, before), context.lines
    )
    changed = [
        write_nodes(cluster, context.observation),
        write_jobs(cluster, jobs),
        (shown(open_now), asked(open_now)) != (report.open_before, report.asked_before),
        any(plan.state != PlanState.PROPOSED for plan in open_now),  # its steps are about to move on
    ]
    note_cycle(cluster, fault="", changed=any(changed))
    if had_fault:
        tell_cluster(cluster, "cluster.recovered", had_fault)

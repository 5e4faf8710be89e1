"""What one cycle intends in one partition: its new plans, and who is patient, with what is told of its decisions."""

from collections.abc import Mapping

from console.steering.context import CycleContext
from console.steering.cycle_report import Report
from console.steering.decisions.deciding import Verdicts
from console.steering.decisions.facts import Facts
from console.steering.decisions.patience import remember_patience
from console.steering.decisions.rejections import declined_starts
from console.steering.kept_cycle import KeptCycle
from console.steering.plans.intending import intend
from console.steering.plans.new_plans import NewPlans
from console.steering.plans.starting import left_waiting


def intend_in_partition(
    context: CycleContext,
    facts: Facts,
    verdict: Verdicts,
    report: Report,
    kept: KeptCycle,
    before: Mapping[tuple[str, str], int],
) -> None:
    """Write the intents of one partition, in the caller's transaction. `before`: as `startable` tells it."""
    observation, name = context.observation, verdict.facts.row.name
    starts = left_waiting(verdict, observation.jobs_by_id, before)
    starts -= declined_starts(name, facts.rejections)
    remember_patience(
        kept.cluster,
        verdict.facts.policy,
        verdict.decisions,
        observation.jobs,
        facts.foresight,
        observation.taken_at,
    )
    new = NewPlans(kept.cluster, kept.row, verdict, context.failures.holds(name), starts, facts.held_together)
    report.planned += intend(new, facts.plans)
    kept.plans.add(new.saved)
    report.lines.extend(
        f"{name} {decision.job} {decision.action.value}: {decision.explain}" for decision in verdict.decisions
    )

"""`manage.py plan show ID`, `manage.py plan replay ID`: a plan as it was recorded, and as it is decided today."""

import json
import sys
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandParser

from console.steering.models import Plan
from console.steering.replaying import NotReplayableError, PlanReplay, ReplayedOutcome, replay

SAME, DIFFERENT, IMPOSSIBLE = 0, 1, 2


class Command(BaseCommand):
    """Nothing is changed, and no cluster is asked."""

    help = "Show a plan, or decide it again from its stored snapshot with today's code."

    def add_arguments(self, parser: CommandParser) -> None:
        """`show ID`, `replay ID [--json]`."""
        commands = parser.add_subparsers(dest="command", required=True)
        show = commands.add_parser("show", help="Print a plan with its victims and steps.")
        again = commands.add_parser(
            "replay",
            help="Decide it again: exit status 0 when the same comes out, 1 when not, 2 when impossible.",
        )
        for each in (show, again):
            each.add_argument("id", type=int)
        again.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *, command: str, id: int, **options: Any) -> None:  # noqa: A002 - the argument's name
        """Run one of the sub-commands."""
        plan = Plan.objects.filter(pk=id).select_related("cluster", "cycle", "stored_snapshot").first()
        if plan is None:
            self._refuse(f"There is no plan {id}.")
        if command == "show":
            self._show(plan)
            return
        try:
            result = replay(plan)
        except NotReplayableError as error:
            self._refuse(str(error))
        if options["json"]:
            self.stdout.write(json.dumps(result.document, indent=1, ensure_ascii=False))
        else:
            self._tell(plan, result)
        if result.differences:
            sys.exit(DIFFERENT)

    def _tell(self, plan: Plan, result: PlanReplay) -> None:
        self._head(plan)
        self._outcome(result.recorded if result.today is None else result.today)
        if not result.differences:
            self.stdout.write("Decided again from the stored snapshot: same as recorded.")
            return
        self.stdout.write("Decided again from the stored snapshot: DIFFERENT from what was recorded.")
        for difference in result.differences:
            self.stdout.write(f"  {difference.field}")
            self.stdout.write(f"    recorded: {_word(difference.recorded)}")
            self.stdout.write(f"    today:    {_word(difference.today)}")

    def _show(self, plan: Plan) -> None:
        self._head(plan)
        self.stdout.write(f"  {plan.explain}")
        for victim in plan.victims:
            who = f"{victim['job']} {victim.get('name', '')} ({victim.get('user', '')})"
            self.stdout.write(f"  victim {who}: {victim['how']}, {victim.get('resources', '')}")
        for node, part in sorted(plan.placement.items()):
            self.stdout.write(f"  on {node}: {_word(part)}")
        for action in plan.actions.all():
            detail = f": {action.detail}" if action.detail else ""
            self.stdout.write(f"  step {action.order} {action.kind} {action.job_id}: {action.state}{detail}")
        for other in plan.passed_over:
            self.stdout.write(f"  passed over {other['job']}: {other['reason']}")
        if plan.decided_by:
            self.stdout.write(f"  decided by {plan.decided_by}: {plan.decision_reason}")
        if plan.outcome:
            self.stdout.write(f"  {plan.outcome}")
        kept = "kept" if plan.stored_snapshot else "none (it cannot be replayed)"
        self.stdout.write(f"  snapshot: {kept}")

    def _head(self, plan: Plan) -> None:
        self.stdout.write(
            f"Plan {plan.pk}, {plan.state}: {plan.kind} for {plan.job_id} {plan.job_name} ({plan.user}) in "
            f"{plan.cluster.name}/{plan.partition}, cycle {plan.cycle.number}, "
            f"{plan.created_at:%Y-%m-%d %H:%M:%S} UTC, policy revision {plan.policy_revision}, {plan.enforcement}"
        )

    def _outcome(self, outcome: ReplayedOutcome) -> None:
        self.stdout.write(f"  {outcome.action} ({outcome.reason}): {outcome.explain}")
        for job, how in outcome.victims.items():
            self.stdout.write(f"  victim {job}: {how}")
        for node, part in outcome.placement.items():
            self.stdout.write(f"  on {node}: {_word(part)}")

    def _refuse(self, message: str) -> NoReturn:
        self.stderr.write(message)
        sys.exit(IMPOSSIBLE)


def _word(value: Any) -> str:
    if value is None:
        return "no verdict on the job"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)

"""Deciding a plan again from what was stored with it, with the code as it is today.

The stored snapshot is what was planned on, with everything under way laid over it: planning it again must give the
same. Where it does not, the code has changed since.
"""

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from console.steering.deciding import NOT_STARTED
from console.steering.models import Plan, PlanKind
from scheduler.contracts.errors import InputError
from scheduler.contracts.jsontext import parse
from scheduler.contracts.snapshot import decode_snapshot
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import Snapshot
from scheduler.reconcile.decide import decide


class NotReplayableError(Exception):
    """The plan cannot be decided again; the message says why in one line."""


@dataclass(frozen=True, slots=True)
class ReplayedOutcome:
    """What was, or is, decided for a job; in plain values, so that two can be compared field by field."""

    action: str
    reason: str
    victims: dict[str, str]
    """How each gives way, by job id."""
    placement: dict[str, dict[str, int]]
    explain: str


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    """A field that is decided differently today."""

    field: str
    recorded: Any
    today: Any


@dataclass(frozen=True, slots=True)
class PlanReplay:
    """A plan as it was recorded, and as it is decided today."""

    plan: int
    job: str
    recorded: ReplayedOutcome
    today: ReplayedOutcome | None
    """None: no verdict on the job comes out at all."""

    @property
    def differences(self) -> tuple[ReplayDifference, ...]:
        """Field by field; empty when the same is decided."""
        before = asdict(self.recorded)
        after = asdict(self.today) if self.today else dict.fromkeys(before)
        return tuple(
            ReplayDifference(name, before[name], after[name])
            for name in before
            if before[name] != after[name]
        )

    @property
    def document(self) -> dict[str, Any]:
        """For programs."""
        return {
            "plan": self.plan,
            "job": self.job,
            "same": not self.differences,
            "recorded": asdict(self.recorded),
            "today": asdict(self.today) if self.today else None,
            "differences": [asdict(difference) for difference in self.differences],
        }


def replay(plan: Plan) -> PlanReplay:
    """Decide again. Raises `NotReplayableError`."""
    decided = decide(_snapshot(plan))
    mine = next((decision for decision in decided.decisions if decision.job == plan.job_id), None)
    return PlanReplay(plan.pk, plan.job_id, recorded(plan), None if mine is None else _outcome(mine))


def recorded(plan: Plan) -> ReplayedOutcome:
    """What the plan says was decided."""
    return ReplayedOutcome(
        action=_action(plan).value,
        reason=plan.reason,
        # Who grows is its own victim; the decision names none.
        victims=_by_job((v["job"], v["how"]) for v in plan.victims if plan.kind != PlanKind.GROW),
        placement=_amounts(plan.placement),
        explain=plan.explain.removesuffix(f" {NOT_STARTED}"),
    )


def _action(plan: Plan) -> DecisionKind:
    if plan.kind == PlanKind.GROW:
        return DecisionKind.GROW
    if plan.reason == Reason.SHRINKS:
        return DecisionKind.SHRINK
    if plan.reason == Reason.SWAPS_A_NODE:
        return DecisionKind.SWAP
    return DecisionKind.PREEMPT if plan.victims else DecisionKind.START


def _outcome(decision: Decision) -> ReplayedOutcome:
    return ReplayedOutcome(
        action=decision.action.value,
        reason=decision.reason.value,
        victims=_by_job((victim.job, victim.how.value) for victim in decision.victims),
        placement=_amounts(decision.placement),
        explain=decision.explain,
    )


def _by_job(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    return dict(sorted(pairs))


def _amounts(placement: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {node: dict(sorted(part.items())) for node, part in sorted(placement.items())}


def _snapshot(plan: Plan) -> Snapshot:
    """The plan's input, as it was stored and not otherwise."""
    stored = plan.stored_snapshot
    if plan.kind == PlanKind.WHOLE:
        raise NotReplayableError(
            f"Plan {plan.pk} holds jobs until all of them fit; such plans stop nobody and keep no snapshot."
        )
    if plan.kind == PlanKind.QUOTA:
        raise NotReplayableError(
            f"Plan {plan.pk} holds a job because of a quota; such plans stop nobody and keep no snapshot."
        )
    if plan.chosen:
        raise NotReplayableError(
            f"{plan.decided_by} approved an alternative to what was decided in plan {plan.pk}; the alternative was not "
            "decided on by itself."
        )
    if stored is None:
        raise NotReplayableError(f"The snapshot of plan {plan.pk} was not kept.")
    try:
        text = zlib.decompress(stored.body)
        if hashlib.sha256(text).hexdigest() != stored.digest:
            raise NotReplayableError(f"The snapshot of plan {plan.pk} is not the one that was stored.")
        return decode_snapshot(parse(text))
    except zlib.error as error:
        raise NotReplayableError(f"The snapshot of plan {plan.pk} is damaged: {error}.") from None
    except InputError as error:
        raise NotReplayableError(
            f"The snapshot of plan {plan.pk} cannot be read by today's code: {error}."
        ) from None

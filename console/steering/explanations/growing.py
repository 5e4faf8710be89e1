"""How does a job get its nodes back: by which plan it starts again on more nodes, and what that gains and costs."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from console.steering.explanations.answer import About, AnswerLine, AnswerPart
from console.steering.explanations.known import Known
from console.steering.explanations.wording import kept
from console.steering.models import Plan, PlanKind, PlanState


def growth(known: Known) -> Iterator[AnswerPart]:
    """The newest such plan of a job."""
    plan = next((plan for plan in known.own if plan.kind == PlanKind.GROW), None)
    if plan is not None and plan.victims:
        lines = tuple(_lines(plan))
        yield AnswerPart(About.ROOM, starts_again(plan), lines, plan.pk, _("How does it get its nodes back?"))


def starts_again(plan: Plan) -> str:
    """What such a plan does, or has done, in a sentence."""
    numbers = {"n": plan.victims[0]["after"], "before": plan.victims[0]["before"]}
    if plan.undo_reason or plan.state in (PlanState.EXPIRED, PlanState.SUPERSEDED):
        text = _("It was to start again on %(n)s nodes, and goes on with the %(before)s that it has.")
    elif plan.state == PlanState.PROPOSED:
        text = _("Giveway would start it again on %(n)s nodes, but only watches this partition (shadow).")
    elif plan.started_at:
        text = _("It was started again on %(n)s nodes; before it had %(before)s.")
    else:
        text = _("It starts again on %(n)s nodes; it had %(before)s.")
    return text % numbers


def _lines(plan: Plan) -> Iterator[AnswerLine]:
    yield AnswerLine(kept(plan.explain, 1000), plan.created_at)
    if plan.undo_reason:
        yield AnswerLine(kept(plan.undo_reason), plan.ended_at)
    elif plan.started_at:
        yield AnswerLine(_("It runs on its nodes again"), plan.started_at)

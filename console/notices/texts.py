"""The sentences of notices. Names of jobs and of users are hostile input: printable, on one line, not too long."""

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from console.cluster.models import Job
from console.core import saying
from console.notices.models import Notice, NoticeKind
from console.power.models import PowerIncident
from console.projects.models import ProjectProposal, RequestState, UrgencyBy, UrgencyRequest
from console.steering.exchanging.sets import is_exchange
from console.steering.explanations.wording import exchanged_nodes, kept, one_line, victims, who
from console.steering.models import Checkpoint, Incident, Pause, Plan, PlannedAction
from scheduler.model.actions import ActionKind
from scheduler.preemption.sentences import clean


def stopped(stop: PlannedAction, checkpoint: Checkpoint | None) -> str:
    """To the victim."""
    plan = stop.plan
    facts = {
        "job": _named(stop.job_id, stop.job_name),
        "at": moment(stop.issued_at or stop.verified_at),
        "other": who(plan.job_id, plan.user),
        "partition": clean(plan.partition),
        "plan": plan.pk,
    }
    if stop.kind == ActionKind.CANCEL:
        text = _(
            "Your job %(job)s was cancelled at %(at)s to make room for %(other)s in partition %(partition)s (plan "
            "%(plan)s). It cannot be requeued and does not come back by itself: submit it again."
        )
        return text % facts
    if is_exchange(plan):
        text = _(
            "Your job %(job)s was stopped at %(at)s to exchange %(up)s for %(instead)s, so that it and %(other)s in "
            "partition %(partition)s both run on nodes of equal compute power (plan %(plan)s). It starts again at once."
        )
        return text % (facts | exchanged_nodes(plan)) + _saved(checkpoint)
    text = _(
        "Your job %(job)s was stopped at %(at)s to make room for %(other)s in partition %(partition)s (plan "
        "%(plan)s). It is held until that job runs; then it waits for room again."
    )
    return text % facts + _saved(checkpoint)


def resumed(row: Job, stop: PlannedAction, at: datetime, checkpoint: Checkpoint | None) -> str:
    """To the victim, when it is back."""
    facts = {
        "job": _named(row.job_id, row.name),
        "at": moment(at),
        "nodes": saying.names(clean(node) for node in sorted(row.alloc))
        if row.alloc
        else clean(row.partition),
        "before": moment(stop.issued_at),
        "plan": stop.plan_id,
    }
    text = _(
        "Your job %(job)s runs again since %(at)s on %(nodes)s. Plan %(plan)s had stopped it at %(before)s."
    )
    return text % facts + _saved(checkpoint)


def grown(plan: Plan) -> str:
    """To the user of a job that has got nodes back."""
    facts = {
        "job": _named(plan.job_id, plan.job_name),
        "at": moment(plan.started_at),
        "plan": plan.pk,
        "why": kept(plan.explain, 1000),
    }
    return _("Your job %(job)s was started again by plan %(plan)s and runs since %(at)s. %(why)s") % facts


def lost(incident: Incident) -> str:
    """To the victim's user."""
    text = _(
        "Your job %(job)s was stopped to make room for %(other)s in partition %(partition)s (plan %(plan)s) and did "
        "not come back. %(why)s Submit it again. The administrators of the partition have been told."
    )
    return text % _facts(incident)


def incident(incident: Incident) -> str:
    """To who looks after the partition."""
    text = _(
        "Job %(job)s of %(user)s was stopped by plan %(plan)s to make room for %(other)s in partition %(partition)s "
        "and did not come back. %(why)s Look into it, and close incident %(incident)s with what was found."
    )
    return text % _facts(incident)


def _facts(incident: Incident) -> dict[str, object]:
    return {
        "job": _named(incident.job_id, incident.job_name),
        "user": clean(incident.user),
        "other": clean(incident.beneficiary),
        "partition": clean(incident.partition),
        "plan": incident.plan,
        "why": kept(incident.words),
        "incident": incident.pk,
    }


def stands_out(incident: PowerIncident, partition: str) -> str:
    """To who looks after a partition of its node."""
    text = _(
        "In partition %(partition)s a processor stands out: %(why)s On the partition's page of compute power it can be "
        "drained, or left as it is."
    )
    return text % {"partition": clean(partition), "why": kept(incident.words)}


def paused(pause: Pause) -> str:
    """To who looks after the partition, when nobody has paused it."""
    facts = {
        "partition": clean(pause.partition),
        "at": moment(pause.since),
        "why": kept(pause.reason, 1000).rstrip("."),
    }
    text = _(
        "Giveway has paused partition %(partition)s by itself at %(at)s: %(why)s. Nobody is stopped there until "
        "somebody resumes it."
    )
    return text % facts


def may_end(row: Job, at: datetime) -> str:
    """To the user of a job that cannot be requeued."""
    facts = {"job": _named(row.job_id, row.name), "partition": clean(row.partition), "at": moment(at)}
    text = _(
        "Your job %(job)s cannot be requeued. From %(at)s on it may be cancelled when a more urgent job needs its room "
        "in partition %(partition)s. Submitted with a script and without --no-requeue, it would be put back instead."
    )
    return text % facts


def started(plan: Plan) -> str:
    """To the beneficiary."""
    facts = {
        "job": _named(plan.job_id, plan.job_name),
        "at": moment(plan.started_at),
        "plan": plan.pk,
        "victims": victims(plan),
    }
    return (
        _("Your job %(job)s runs since %(at)s. Plan %(plan)s made room for it by stopping %(victims)s.")
        % facts
    )


def undone(plan: Plan) -> str:
    """To whom the plan was to help."""
    facts = {
        "job": _named(plan.job_id, plan.job_name),
        "plan": plan.pk,
        "at": moment(plan.ended_at),
        "why": kept(plan.undo_reason or plan.outcome),
    }
    return _("Plan %(plan)s to make room for your job %(job)s was undone at %(at)s: %(why)s") % facts


def approval(plan: Plan) -> str:
    """To an administrator of the partition."""
    facts = {
        "plan": plan.pk,
        "partition": clean(plan.partition),
        "victims": victims(plan),
        "job": who(plan.job_id, plan.user),
        "why": kept(plan.explain, 1000),
    }
    text = _(
        "Plan %(plan)s in partition %(partition)s waits for approval: it would stop %(victims)s to make room for "
        "%(job)s. %(why)s"
    )
    if is_exchange(plan):
        text = _(
            "Plan %(plan)s in partition %(partition)s waits for approval: it would stop %(victims)s to exchange "
            "%(up)s for %(instead)s, so that it and %(job)s have even sets of nodes. %(why)s"
        )
        facts |= exchanged_nodes(plan)
    return text % facts


def asked(request: UrgencyRequest) -> str:
    """To an administrator."""
    facts = {
        "who": one_line(request.asked_by, 60),
        "project": one_line(request.project.code, 64),
        "urgency": f"{request.urgency:g}",
        "day": request.deadline,
        "why": one_line(request.reason, 1000),
    }
    if request.urgency_by == UrgencyBy.DEADLINE and request.deadline:
        text = _(
            "%(who)s asks for an urgency of %(urgency)s, rising towards the deadline of %(day)s, for project "
            "%(project)s, which is above the limit for managers. Reason: %(why)s"
        )
        return text % facts
    text = _(
        "%(who)s asks for an urgency of %(urgency)s for project %(project)s, which is above the limit for managers. "
        "Reason: %(why)s"
    )
    return text % facts


def proposed(proposal: ProjectProposal) -> str:
    """To an administrator."""
    text = _("%(who)s proposes the project %(code)s (%(name)s). Reason: %(why)s")
    return text % {
        "who": one_line(proposal.asked_by, 60),
        "code": one_line(proposal.code, 64),
        "name": one_line(proposal.document["name"], 200),
        "why": one_line(proposal.reason, 1000),
    }


def judged(proposal: ProjectProposal) -> str:
    """To whoever proposed it."""
    facts = {
        "who": one_line(proposal.decided_by, 60),
        "code": one_line(proposal.code, 64),
        "at": moment(proposal.decided_at),
        "why": one_line(proposal.decision_reason, 1000),
    }
    if proposal.state != RequestState.APPROVED:
        return _("%(who)s has rejected the project %(code)s that you proposed. Reason: %(why)s") % facts
    made = (proposal.became or proposal.document)["code"]
    text = _(
        "%(who)s has accepted the project %(code)s that you proposed; it is there since %(at)s as %(made)s. "
        "Reason: %(why)s"
    )
    return text % (facts | {"made": one_line(made, 64)})


def decided(request: UrgencyRequest) -> str:
    """To whoever asked."""
    facts = {
        "who": one_line(request.decided_by, 60),
        "project": one_line(request.project.code, 64),
        "urgency": f"{request.urgency:g}",
        "at": moment(request.decided_at),
        "why": one_line(request.decision_reason, 1000),
    }
    if (
        request.state == RequestState.APPROVED
        and request.urgency_by == UrgencyBy.DEADLINE
        and request.deadline
    ):
        text = _(
            "%(who)s has approved the urgency of %(urgency)s that you asked for project %(project)s, rising towards "
            "the deadline of %(day)s; it has it since %(at)s. Reason: %(why)s"
        )
        return text % (facts | {"day": request.deadline})
    if request.state == RequestState.APPROVED:
        text = _(
            "%(who)s has approved the urgency of %(urgency)s that you asked for project %(project)s; it has it since "
            "%(at)s. Reason: %(why)s"
        )
        return text % facts
    text = _(
        "%(who)s has rejected the urgency of %(urgency)s that you asked for project %(project)s at %(at)s; it keeps "
        "its own. Reason: %(why)s"
    )
    return text % facts


def subject(notices: list[Notice]) -> str:
    """What stands in the list of e-mails: job ids are all that it has of the cluster."""
    if len(notices) > 1:
        return _("Giveway: %d notices") % len(notices)
    notice = notices[0]
    about_no_job = {
        NoticeKind.ASKED: _("Giveway: a request waits for your decision"),
        NoticeKind.DECIDED: _("Giveway: your request was decided"),
        NoticeKind.PAUSED: _("Giveway: a partition was paused"),
    }
    if notice.kind in about_no_job:
        return about_no_job[NoticeKind(notice.kind)]
    subjects = {
        NoticeKind.STOPPED: _("Giveway: job %s was stopped to make room"),
        NoticeKind.RESUMED: _("Giveway: job %s runs again"),
        NoticeKind.STARTED: _("Giveway: job %s runs, room was made for it"),
        NoticeKind.UNDONE: _("Giveway: no room could be made for job %s"),
        NoticeKind.LOST: _("Giveway: job %s was stopped and did not come back"),
        NoticeKind.INCIDENT: _("Giveway: job %s was stopped and did not come back"),
        NoticeKind.MAY_END: _("Giveway: job %s may be cancelled"),
        NoticeKind.APPROVAL: _("Giveway: a plan for job %s waits for your approval"),
    }
    return subjects[NoticeKind(notice.kind)] % clean(notice.job_id)


def moment(at: datetime | None) -> str:
    """`2026-03-02 12:00:00 UTC`: a notice may be read tomorrow."""
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S %Z}" if at else "–"


def _named(job_id: str, name: str) -> str:
    return f"{clean(job_id)} ({one_line(name, 60)})" if name else clean(job_id)


def _saved(checkpoint: Checkpoint | None) -> str:
    if checkpoint is None or not checkpoint.saved:
        return ""
    return " " + _("It had saved: %s.") % one_line(checkpoint.saved)

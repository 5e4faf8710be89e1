"""What notices say, as data. Names of jobs and of users are hostile input: printable, on one line, not too long."""

from collections.abc import Iterable
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from console.cluster.models import Job
from console.core.translate import said
from console.notices.models import Notice, NoticeKind
from console.power.models import PowerIncident
from console.projects.models import ProjectProposal, RequestState, UrgencyBy, UrgencyRequest
from console.steering.exchanging.sets import is_exchange, runner_of
from console.steering.explanations.wording import LONGEST_REASON, one_line, who
from console.steering.models import Checkpoint, Incident, Pause, Plan, PlannedAction
from scheduler.model.actions import ActionKind
from scheduler.model.sentence import Listed, Param, Sentence, join, say, told, with_names
from scheduler.preemption.sentences import clean

LONGEST_WHY = 1000
MOST_VICTIMS = 5


def stopped(stop: PlannedAction, checkpoint: Checkpoint | None) -> str:
    """To the victim."""
    plan = stop.plan
    facts: dict[str, Param] = {
        "job": _named(stop.job_id, stop.job_name),
        "at": moment(stop.issued_at or stop.verified_at),
        "other": who(plan.job_id, plan.user),
        "partition": clean(plan.partition),
        "plan": plan.pk,
    }
    if stop.kind == ActionKind.CANCEL:
        return say("notice.stopped.cancelled", **facts)
    if is_exchange(plan):
        return join(say("notice.stopped.exchange", **facts, **_exchanged(plan)), _saved(checkpoint))
    return join(say("notice.stopped", **facts), _saved(checkpoint))


def resumed(row: Job, stop: PlannedAction, at: datetime, checkpoint: Checkpoint | None) -> str:
    """To the victim, when it is back."""
    runs = say(
        "notice.resumed",
        job=_named(row.job_id, row.name),
        at=moment(at),
        nodes=_nodes(sorted(row.alloc)) if row.alloc else clean(row.partition),
        before=moment(stop.issued_at),
        plan=stop.plan_id,
    )
    return join(runs, _saved(checkpoint))


def grown(plan: Plan) -> str:
    """To the user of a job that has got nodes back."""
    return say(
        "notice.grown",
        job=_named(plan.job_id, plan.job_name),
        at=moment(plan.started_at),
        plan=plan.pk,
        why=_kept(plan.explain, LONGEST_WHY),
    )


def lost(incident: Incident) -> str:
    """To the victim's user."""
    return say("notice.lost", **_facts(incident))


def incident(incident: Incident) -> str:
    """To who looks after the partition."""
    return say("notice.incident", **_facts(incident), user=clean(incident.user), incident=incident.pk)


def _facts(incident: Incident) -> dict[str, Param]:
    return {
        "job": _named(incident.job_id, incident.job_name),
        "other": clean(incident.beneficiary),
        "partition": clean(incident.partition),
        "plan": incident.plan,
        "why": _kept(incident.words),
    }


def stands_out(incident: PowerIncident, partition: str) -> str:
    """To who looks after a partition of its node."""
    return say("notice.stands_out", partition=clean(partition), why=_kept(incident.words))


def paused(pause: Pause) -> str:
    """To who looks after the partition, when nobody has paused it."""
    why = pause.reason if isinstance(pause.reason, Sentence) else pause.reason.rstrip(".")
    return say(
        "notice.paused",
        partition=clean(pause.partition),
        at=moment(pause.since),
        why=_kept(why, LONGEST_WHY),
    )


def may_end(row: Job, at: datetime) -> str:
    """To the user of a job that cannot be requeued."""
    job = _named(row.job_id, row.name)
    return say("notice.may_end", job=job, partition=clean(row.partition), at=moment(at))


def started(plan: Plan) -> str:
    """To the beneficiary."""
    return say(
        "notice.started",
        job=_named(plan.job_id, plan.job_name),
        at=moment(plan.started_at),
        plan=plan.pk,
        victims=_victims(plan),
    )


def undone(plan: Plan) -> str:
    """To whom the plan was to help."""
    return say(
        "notice.undone",
        job=_named(plan.job_id, plan.job_name),
        plan=plan.pk,
        at=moment(plan.ended_at),
        why=_kept(plan.undo_reason or plan.outcome),
    )


def approval(plan: Plan) -> str:
    """To an administrator of the partition."""
    facts: dict[str, Param] = {
        "plan": plan.pk,
        "partition": clean(plan.partition),
        "victims": _victims(plan),
        "job": who(plan.job_id, plan.user),
        "why": _kept(plan.explain, LONGEST_WHY),
    }
    if is_exchange(plan):
        return say("notice.approval.exchange", **facts, **_exchanged(plan))
    return say("notice.approval", **facts)


def asked(request: UrgencyRequest) -> str:
    """To an administrator."""
    facts: dict[str, Param] = {
        "who": one_line(request.asked_by, 60),
        "project": one_line(request.project.code, 64),
        "urgency": f"{request.urgency:g}",
        "why": one_line(request.reason, LONGEST_WHY),
    }
    if request.urgency_by == UrgencyBy.DEADLINE and request.deadline:
        return say("notice.asked.deadline", **facts, day=str(request.deadline))
    return say("notice.asked", **facts)


def proposed(proposal: ProjectProposal) -> str:
    """To an administrator."""
    return say(
        "notice.proposed",
        who=one_line(proposal.asked_by, 60),
        code=one_line(proposal.code, 64),
        name=one_line(proposal.document["name"], 200),
        why=one_line(proposal.reason, LONGEST_WHY),
    )


def judged(proposal: ProjectProposal) -> str:
    """To whoever proposed it."""
    facts: dict[str, Param] = {
        "who": one_line(proposal.decided_by, 60),
        "code": one_line(proposal.code, 64),
        "why": one_line(proposal.decision_reason, LONGEST_WHY),
    }
    if proposal.state != RequestState.APPROVED:
        return say("notice.judged.rejected", **facts)
    made = (proposal.became or proposal.document)["code"]
    return say("notice.judged.accepted", **facts, at=moment(proposal.decided_at), made=one_line(made, 64))


def decided(request: UrgencyRequest) -> str:
    """To whoever asked."""
    facts: dict[str, Param] = {
        "who": one_line(request.decided_by, 60),
        "project": one_line(request.project.code, 64),
        "urgency": f"{request.urgency:g}",
        "at": moment(request.decided_at),
        "why": one_line(request.decision_reason, LONGEST_WHY),
    }
    if request.state != RequestState.APPROVED:
        return say("notice.decided.rejected", **facts)
    if request.urgency_by == UrgencyBy.DEADLINE and request.deadline:
        return say("notice.decided.deadline", **facts, day=str(request.deadline))
    return say("notice.decided.approved", **facts)


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


def shown(notice: Notice) -> str:
    """What a notice says, in the language of whoever it is read for. Those of before are in their reader's already."""
    return said(notice.text) if isinstance(notice.text, Sentence) else notice.text


def moment(at: datetime | None) -> str:
    """`2026-03-02 12:00:00 UTC`: a notice may be read tomorrow."""
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S %Z}" if at else "–"


def _kept(words: str, longest: int = LONGEST_REASON) -> Sentence:
    """What is kept of a plan, as it may stand in a notice; rows of before are said by their reader."""
    if isinstance(words, Sentence):
        return with_names(words, lambda name: one_line(name, longest))
    return told(one_line(words, longest))


def _victims(plan: Plan) -> Listed:
    """`88 (bob) and 91 (eve)`."""
    return Listed((who(str(v["job"]), str(v.get("user", ""))) for v in plan.victims), MOST_VICTIMS)


def _exchanged(plan: Plan) -> dict[str, Param]:
    """Of an exchange: the nodes that the running job gives up, and those that it gets."""
    runner = runner_of(plan)
    return {"up": _nodes(runner["nodes"]), "instead": _nodes(runner["gets"])}


def _nodes(names: Iterable[str]) -> Listed:
    return Listed(map(clean, names))


def _named(job_id: str, name: str) -> str:
    return f"{clean(job_id)} ({one_line(name, 60)})" if name else clean(job_id)


def _saved(checkpoint: Checkpoint | None) -> str:
    if checkpoint is None or not checkpoint.saved:
        return ""
    return say("notice.saved", what=one_line(checkpoint.saved))

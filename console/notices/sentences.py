"""The lines of notices (see `scheduler.model.sentence`); `texts` says which is for whom."""

SENTENCES: dict[str, str] = {
    "notice.stopped.cancelled": (
        "Your job %(job)s was cancelled at %(at)s to make room for %(other)s in partition %(partition)s "
        "(plan %(plan)s). It cannot be requeued and does not come back by itself: submit it again."
    ),
    "notice.stopped.exchange": (
        "Your job %(job)s was stopped at %(at)s and starts again at once, on %(instead)s instead of %(up)s: "
        "so it and %(other)s in partition %(partition)s get nodes of equal compute power (plan %(plan)s)."
    ),
    "notice.stopped": (
        "Your job %(job)s was stopped at %(at)s to make room for %(other)s in partition %(partition)s (plan"
        " %(plan)s). It is held until that job runs; then it waits for room again."
    ),
    "notice.resumed": (
        "Your job %(job)s runs again since %(at)s on %(nodes)s. Plan %(plan)s had stopped it at %(before)s."
    ),
    "notice.grown": "Your job %(job)s was started again by plan %(plan)s and runs since %(at)s. %(why)s",
    "notice.lost": (
        "Your job %(job)s did not come back after it was stopped for %(other)s in partition %(partition)s "
        "(plan %(plan)s). %(why)s Submit it again. The partition's administrators have been told."
    ),
    "notice.incident": (
        "Job %(job)s of %(user)s did not come back after plan %(plan)s had stopped it for %(other)s in "
        "partition %(partition)s. %(why)s Find out why, and close incident %(incident)s with what you found."
    ),
    "notice.stands_out": (
        "In partition %(partition)s a processor stands out: %(why)s On the partition's page of compute "
        "power it can be drained, or left as it is."
    ),
    "notice.paused": (
        "Giveway has paused partition %(partition)s by itself at %(at)s: %(why)s. Nobody is stopped there "
        "until somebody resumes it."
    ),
    "notice.may_end": (
        "Your job %(job)s cannot be requeued: from %(at)s on it may be cancelled for a more urgent job in "
        "partition %(partition)s. Submitted as a script without --no-requeue, it would be put back instead."
    ),
    "notice.started": (
        "Your job %(job)s runs since %(at)s. Plan %(plan)s made room for it by stopping %(victims)s."
    ),
    "notice.undone": "Plan %(plan)s to make room for your job %(job)s was undone at %(at)s: %(why)s",
    "notice.approval": (
        "Plan %(plan)s in partition %(partition)s waits for approval: it would stop %(victims)s to make "
        "room for %(job)s. %(why)s"
    ),
    "notice.approval.exchange": (
        "Plan %(plan)s in partition %(partition)s waits for approval: it would stop %(victims)s to exchange "
        "%(up)s for %(instead)s, which gives it and %(job)s nodes of equal compute power. %(why)s"
    ),
    "notice.asked.deadline": (
        "%(who)s asks for an urgency of %(urgency)s, rising towards the deadline of %(day)s, for project "
        "%(project)s, which is above the limit for managers. Reason: %(why)s"
    ),
    "notice.asked": (
        "%(who)s asks for an urgency of %(urgency)s for project %(project)s, which is above the limit for "
        "managers. Reason: %(why)s"
    ),
    "notice.decided.deadline": (
        "Project %(project)s has the urgency of %(urgency)s that you asked for since %(at)s, rising towards "
        "the deadline of %(day)s: %(who)s has approved it. Reason: %(why)s"
    ),
    "notice.decided.approved": (
        "Project %(project)s has the urgency of %(urgency)s that you asked for since %(at)s: %(who)s has "
        "approved it. Reason: %(why)s"
    ),
    "notice.decided.rejected": (
        "%(who)s has rejected the urgency of %(urgency)s that you asked for project %(project)s at %(at)s; "
        "it keeps its own. Reason: %(why)s"
    ),
    "notice.proposed": "%(who)s proposes the project %(code)s (%(name)s). Reason: %(why)s",
    "notice.judged.accepted": (
        "%(who)s has accepted the project %(code)s that you proposed; it is there since %(at)s as %(made)s. "
        "Reason: %(why)s"
    ),
    "notice.judged.rejected": "%(who)s has rejected the project %(code)s that you proposed. Reason: %(why)s",
    "notice.saved": "It had saved: %(what)s.",
}

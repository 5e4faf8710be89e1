"""The lines of what the workers say of plans, their steps and their victims (see `scheduler.model.sentence`).

Their words are the ones that older releases kept as text, so that rows of before and of now read the same.
"""

from scheduler.model.sentence import add_lines

SENTENCES: dict[str, str] = {
    # Why a plan ends, or gives way to a newer one (plans/)
    "plan.none_to_stop": "Nobody may be stopped: %(why)s.",
    "plan.not_carried_out": "The partition no longer carries out its plans.",
    "plan.not_enforced": "The partition no longer enforces its plans.",
    "plan.other_enforcement": "The partition's enforcement has changed; a newer plan takes its place.",
    "plan.asked_together": "It is asked about together with %(job)s.",
    "plan.room_with_others": "%(job)s gets room with others.",
    "plan.asked_no_more": "The policy was changed to %(enforcement)s: nobody is asked any more.",
    "enforcement.shadow": "shadow",
    "enforcement.approve": "approve",
    "enforcement.enforce": "enforce",
    "plan.other_policy": "The policy has changed; it was worked out anew.",
    "plan.other_facts": "The facts have changed; it was worked out anew.",
    "plan.other_facts.newer": "The facts have changed; a newer plan takes its place.",
    "plan.anew": "%(why)s It was worked out anew.",
    "plan.newer": "%(why)s A newer plan takes its place.",
    "plan.quota_kept": "%(user)s is no longer over quota.",
    "plan.ran_meanwhile": "%(job)s ran meanwhile and was put back into the queue.",
    "plan.started_alone": "%(job)s has started; nobody was stopped for it.",
    "plan.left": "%(job)s has left the queue.",
    "plan.victim_gone": "%(job)s no longer runs.",
    "plan.victim_differs": "%(job)s is protected now, or ranks differently.",
    "plan.room_differs": "The room on %(node)s is not what it was.",
    "plan.victim_not_needed": "%(job)s need not be stopped any more.",
    "plan.rejected": "%(who)s rejected it: %(why)s",
    # How a plan that was begun goes on (actions/)
    "plan.runs": "%(job)s runs.",
    "plan.runs_already": "%(job)s runs already.",
    "plan.not_seen_running": "%(job)s left the queue and was not seen running.",
    "plan.not_in_queue": "%(job)s is no longer in the queue.",
    "plan.too_late": "%(job)s had not started by the deadline.",
    "plan.elsewhere": "%(job)s started elsewhere, on %(nodes)s.",
    "plan.stopped_all_the_same": "%(job)s was stopped all the same.",
    "plan.still_holds": "%(job)s is still held by this plan; it is let go.",
    "prioritise.in_vain": "prioritise of %(job)s did not work: %(why)s",
    "signal.in_vain": "signal of %(job)s did not work: %(why)s",
    "requeue_hold.in_vain": "requeue_hold of %(job)s did not work: %(why)s",
    "cancel.in_vain": "cancel of %(job)s did not work: %(why)s",
    "hold.in_vain": "hold of %(job)s did not work: %(why)s",
    "prioritise.refused": "prioritise of %(job)s was refused: %(why)s",
    "signal.refused": "signal of %(job)s was refused: %(why)s",
    "requeue_hold.refused": "requeue_hold of %(job)s was refused: %(why)s",
    "cancel.refused": "cancel of %(job)s was refused: %(why)s",
    "hold.refused": "hold of %(job)s was refused: %(why)s",
    "refused.no_reason": "no reason given",
    "action.never_stopped": "It was never stopped.",
    "action.not_put_back": "It ended in its grace time and was not put back into the queue.",
    "action.ended_in_grace": "It ended in its grace time.",
    "action.in_vain": "Not seen to work after %(n)s attempts.",
    "action.left_the_queue": "It is no longer in the queue.",
    "action.after_all": "It took effect after all.",
    "action.left_its_place": "It has left its place at the head of the line.",
    # What became of a victim (actions/fates.py)
    "fate.waits": "It waits in the queue.",
    "fate.held": "It waits, held by somebody else.",
    "fate.came_back": "It came back.",
    "fate.not_stopped": "It was not stopped.",
    "fate.ended_before": "It had ended before.",
    "fate.completed": "It completed.",
    "fate.cancelled": "It was cancelled.",
    "fate.cancelled_by": "It was cancelled by %(user)s.",
    "fate.cancelled_by_us": "It was cancelled: it cannot be requeued.",
    "fate.timed_out": "It reached its time limit.",
    "fate.gone": "It is gone, and nobody can tell what became of it.",
    "fate.failed": "It ended (%(state)s) and was not put back into the queue.",
    "fate.failed_again": "It came back and ended within a minute (%(state)s).",
    "fate.not_launched": "Slurm could not start it again, and holds it (%(state)s).",
    # The victims of a plan together (actions/victims.py)
    "fates.waiting.one": "%(job)s waits.",
    "fates.waiting.many": "%(names)s wait.",
    "fates.returned.one": "%(job)s came back.",
    "fates.returned.many": "%(names)s came back.",
    "fates.spared.one": "%(job)s was not stopped.",
    "fates.spared.many": "%(names)s were not stopped.",
    "fates.cancelled.one": "%(job)s was cancelled.",
    "fates.cancelled.many": "%(names)s were cancelled.",
    "fates.ended.one": "%(job)s was ended by its owner.",
    "fates.ended.many": "%(names)s were ended by their owners.",
    "fates.lost.one": "%(job)s was lost.",
    "fates.lost.many": "%(names)s were lost.",
    # Incidents, pauses, and jobs that are put off
    "incident.seen_again": "The job was seen again.",
    "incident.too_many": "%(n)s stopped jobs did not come back within an hour: %(names)s",
    "paused.everywhere": "%(who)s paused all partitions",
    "paused.everywhere.because": "%(who)s paused all partitions: %(said)s",
    "paused.here": "%(who)s paused the partition %(partition)s",
    "paused.here.because": "%(who)s paused the partition %(partition)s: %(said)s",
    "paused.failures": "three cycles in a row failed, the last in %(what)s",
    "cycle.failed": "The cycle failed in %(what)s",
    "cycle.undecided": "%(partition)s could not be decided on; the cycle failed in %(what)s",
    "cycle.unfinished": "It did not come to its end.",
    "cycle.not_decided": (
        "Giveway could not decide on the jobs of %(partition)s; until it can, nobody is stopped there."
    ),
    "action.stop_refused": "Slurm refused to stop it",
    "alternative.spared": "spared to see who else could make room",
    "put_off.undone": "plan %(plan)s was undone a moment ago; it is not tried again at once",
    "put_off.too_late": (
        "plan %(plan)s was undone: it had not started by the deadline; the next try is in %(left)s at the earliest"
    ),
    "put_off.rejected": (
        "%(who)s rejected plan %(plan)s: %(said)s. The same jobs are not asked for again in the next %(time)s."
    ),
}

add_lines(SENTENCES)

"""The lines of what the workers say of plans, their steps and their victims (see `scheduler.model.sentence`).

Their words are the ones that older releases kept as text, so that rows of before and of now read the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.utils.translation import ngettext

from console.core.l10n_format import in_a_row, names
from scheduler.model.plan import How, Shrinking
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
    "whole.held": "%(jobs)s are held until all %(n)s fit at once, as their user wants: %(why)s",
    "whole.over": "They need not wait for one another any more.",
    "whole.room": "There is room for all of them.",
    "whole.turn": "Plan %(plan)s starts all of them.",
    "whole.too_long": "They were held for a day, and Slurm keeps no room for jobs that are held.",
    "whole.held_by_user": "Its own user holds it.",
    "plan.quota_kept": "%(user)s is no longer over quota.",
    "plan.ran_meanwhile": "%(job)s ran meanwhile and was put back into the queue.",
    "plan.started_alone": "%(job)s has started; nobody was stopped for it.",
    "plan.left": "%(job)s has left the queue.",
    "plan.victim_gone": "%(job)s no longer runs.",
    "plan.victim_differs": "%(job)s is protected now, or ranks differently.",
    "plan.room_differs": "The room on %(node)s is not what it was.",
    "plan.victim_not_needed": "%(job)s need not be stopped any more.",
    "plan.rejected": "%(who)s rejected it: %(why)s",
    # Why a job is not restarted to grow, or not any more (growing/)
    "regrow.not_its_run": "%(job)s does not run any more as it did.",
    "regrow.no_checkpoint": "%(job)s has not said in time that it has saved its state: it is not restarted.",
    "regrow.not_asked": "%(job)s could not be asked to save its state.",
    "regrow.rigid": "%(job)s does not say any more that it is elastic, or in another way.",
    "regrow.not_worth": "A restart of %(job)s would cost it %(cost)s now, and gain it %(gain)s.",
    "regrow.no_room": "%(job)s has found no room for its %(n)s nodes; it goes on with the %(before)s that it had.",
    "regrow.runs": "%(job)s runs on %(n)s nodes.",
    # Why no nodes are kept for a job any more (keeping/)
    "kept.gone": "The job has left the queue.",
    "kept.runs": "The job runs.",
    "kept.waits": "Another job comes first, or the partition keeps no nodes just now.",
    # Jobs that are started on chosen nodes (placing/)
    "placed.elsewhere": "Slurm started it on other nodes than those that were chosen.",
    "placed.given_back": "It gets no nodes chosen for it here: Slurm starts it like any other.",
    # How a plan that was begun goes on (lifecycle.py)
    "plan.runs": "%(job)s started.",
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
    "action.does_not_save": "Not sent: the job does not say that it saves its state, and the signal could end it.",
    "action.unasked": "Not sent: others wait for its end, and a script that does not catch the signal would end by it.",
    "action.not_put_back": "It ended in its grace time and was not put back into the queue.",
    "action.ended_in_grace": "It ended in its grace time.",
    "action.in_vain": "Not seen to work after %(n)s attempts.",
    "action.left_the_queue": "It is no longer in the queue.",
    "action.after_all": "It took effect after all.",
    "action.left_its_place": "It has left its place at the head of the line.",
    # What became of a victim (victims.py)
    "fate.waits": "It waits in the queue.",
    "fate.held": "It waits, held by somebody else.",
    "fate.held_by_user": "It waits, held by its user.",
    "fate.held_by_admin": "It waits, held by an administrator.",
    "fate.not_let_go": "It is held: Slurm does not let it go (%(words)s).",
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
    # The victims of a plan together (victims.py)
    "fates.waiting.one": "%(job)s went back to the queue.",
    "fates.waiting.many": "%(names)s went back to the queue.",
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
    # Exchanges of a node (exchanging)
    "exchange.off": "Jobs of %(partition)s do not exchange nodes any more",
    "exchange.other_nodes": "%(job)s does not run on the nodes any more that it was to exchange one of",
    "exchange.too_old": "%(job)s has run for %(time)s by now; it exchanges a node only in its first %(most)s",
    "exchange.uneven": "The nodes for %(job)s are no even set any more",
    "exchange.landed": "%(job)s runs on %(nodes)s as planned.",
    "exchange.elsewhere": "%(job)s runs on %(nodes)s, not on %(planned)s as planned.",
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


# In which ways the victims of plans make room, counted: a job that gives something up and goes on is not stopped.


class VictimWay(StrEnum):
    """What becomes of a victim."""

    STOP = "stop"
    WORKER = "worker"
    """It is a worker of an elastic job that goes on with its others."""
    FEWER_NODES = "fewer_nodes"
    """It starts again on fewer nodes."""
    PART = "part"
    """It gives a part up while it runs."""
    SWAP = "swap"


def way_of(victim: Mapping[str, Any]) -> VictimWay:
    """The way of a victim, as a plan keeps it."""
    if victim.get("worker_of"):
        return VictimWay.WORKER
    match victim.get("how"):
        case How.NODES:
            return VictimWay.PART if victim.get("by") == Shrinking.INPLACE else VictimWay.FEWER_NODES
        case How.UNITS:
            return VictimWay.PART
        case How.SWAP:
            return VictimWay.SWAP
        case _:
            return VictimWay.STOP


@dataclass(frozen=True, slots=True)
class Making:
    """Victims that make room in one way, in words. `whose`: with the users, as a sentence about them begins."""

    way: VictimWay
    count: int
    users: str

    @property
    def whose(self) -> str:
        """`stops 2 jobs of ann and bob`."""
        match self.way:
            case VictimWay.STOP:
                text = ngettext("stops %(n)d job of %(users)s", "stops %(n)d jobs of %(users)s", self.count)
            case VictimWay.WORKER:
                text = ngettext(
                    "takes %(n)d worker of %(users)s", "takes %(n)d workers of %(users)s", self.count
                )
            case VictimWay.FEWER_NODES:
                text = ngettext(
                    "restarts %(n)d job of %(users)s on fewer nodes",
                    "restarts %(n)d jobs of %(users)s on fewer nodes",
                    self.count,
                )
            case VictimWay.PART:
                text = ngettext(
                    "takes a part of %(n)d job of %(users)s",
                    "takes parts of %(n)d jobs of %(users)s",
                    self.count,
                )
            case _:
                text = ngettext(
                    "exchanges nodes of %(n)d job of %(users)s",
                    "exchanges nodes of %(n)d jobs of %(users)s",
                    self.count,
                )
        return text % {"n": self.count, "users": self.users}

    @property
    def to_do(self) -> str:
        """`stop 2 jobs`, as a button says what it does."""
        match self.way:
            case VictimWay.STOP:
                text = ngettext("stop %(n)d job", "stop %(n)d jobs", self.count)
            case VictimWay.WORKER:
                text = ngettext("take %(n)d worker", "take %(n)d workers", self.count)
            case VictimWay.FEWER_NODES:
                text = ngettext(
                    "restart %(n)d job on fewer nodes", "restart %(n)d jobs on fewer nodes", self.count
                )
            case VictimWay.PART:
                text = ngettext("take a part of %(n)d job", "take parts of %(n)d jobs", self.count)
            case _:
                text = ngettext("exchange nodes of %(n)d job", "exchange nodes of %(n)d jobs", self.count)
        return text % {"n": self.count}

    @property
    def short(self) -> str:
        """`2 stops`, where there is little room."""
        match self.way:
            case VictimWay.STOP:
                text = ngettext("%(n)d stop", "%(n)d stops", self.count)
            case VictimWay.WORKER:
                text = ngettext("%(n)d worker taken", "%(n)d workers taken", self.count)
            case VictimWay.FEWER_NODES:
                text = ngettext("%(n)d restart on fewer nodes", "%(n)d restarts on fewer nodes", self.count)
            case VictimWay.PART:
                text = ngettext("a part of %(n)d job taken", "parts of %(n)d jobs taken", self.count)
            case _:
                text = ngettext("%(n)d exchange of nodes", "%(n)d exchanges of nodes", self.count)
        return text % {"n": self.count}


def ways_of(victims: Iterable[Mapping[str, Any]]) -> list[Making]:
    """The victims by the ways in which they make room, those that are stopped first."""
    found: dict[VictimWay, list[str]] = {}
    for victim in victims:
        found.setdefault(way_of(victim), []).append(str(victim.get("user", "")))
    return [Making(way, len(found[way]), names(sorted(set(found[way])))) for way in VictimWay if way in found]


def count_of(victims: Iterable[Mapping[str, Any]], *ways: VictimWay) -> int:
    """How many make room in one of these ways."""
    return sum(way_of(victim) in ways for victim in victims)


def only_stops(victims: Iterable[Mapping[str, Any]]) -> bool:
    """Whether each of them is stopped."""
    return all(way_of(victim) is VictimWay.STOP for victim in victims)


def shortly(victims: Iterable[Mapping[str, Any]]) -> str:
    """`1 stop, 2 workers taken`."""
    return in_a_row(each.short for each in ways_of(victims))

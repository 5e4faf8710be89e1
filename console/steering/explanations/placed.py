"""What is said of a job that is to start, or has started, on nodes that were chosen for it."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from console.cluster.models import Job
from console.core import clock
from console.core.l10n_format import names
from console.steering.explanations.answer import AnswerLine
from console.steering.explanations.known import Known
from console.steering.explanations.pace import wants_even
from console.steering.explanations.wording import kept
from console.steering.models import ChosenPlace
from scheduler.model.reasons import Reason
from scheduler.preemption.sentences import clean

_UNEVEN = frozenset({Reason.NO_EVEN_SET, Reason.NOT_MEASURED})


def waits_for_its_nodes(known: Known, row: Job) -> Iterator[AnswerLine]:
    """Why Slurm says that it waits for a moment; or that nothing keeps it from uneven nodes."""
    placed = known.placed
    if placed is None:
        yield from _not_placed(known, row)
        return
    if placed.partition != row.partition or placed.got:
        return
    if placed.begun:
        text = _("Giveway let it begin on %(nodes)s, chosen by their compute power")
        yield AnswerLine(text % {"nodes": names(placed.nodes)}, clock.from_epoch(placed.begun))
    else:
        yield AnswerLine(
            _(
                "Giveway lets it begin when nodes of equal compute power are free for it; until then Slurm says that it"
                " waits for its begin time (BeginTime). Were Giveway to stop, it would start wherever Slurm likes."
            )
        )


def runs_on_its_nodes(known: Known) -> Iterator[AnswerLine]:
    """Whether it runs where it was to run, how even that is, and what it costs."""
    placed = known.placed
    if placed is None and known.row is not None:
        yield from _placed_by_slurm(known, known.row)
    if placed is not None and placed.got:
        yield from _as_chosen(placed)
    if known.pace is not None:
        text = _(
            "It goes at the pace of its slowest processor, on %(node)s: it takes about %(n)s %% longer than on an even"
            " set with the same compute power in all."
        )
        yield AnswerLine(text % {"node": clean(known.pace.slowest), "n": round(100 * known.pace.longer)})


def _as_chosen(placed: ChosenPlace) -> Iterator[AnswerLine]:
    if placed.got == placed.nodes:
        yield AnswerLine(
            _("Giveway chose these nodes by their compute power: %s") % kept(placed.explain, 1000)
        )
    elif placed.nodes:
        text = _("Giveway had chosen %(nodes)s by their compute power; Slurm started it elsewhere.")
        yield AnswerLine(text % {"nodes": names(placed.nodes)})
    else:
        yield AnswerLine(
            _("It was to wait for nodes of equal compute power; it began before Giveway had chosen any.")
        )


def _not_placed(known: Known, row: Job) -> Iterator[AnswerLine]:
    """Of one that is planned for an even set, and that nobody keeps from starting elsewhere."""
    if row.reason not in _UNEVEN or not wants_even(row, known.policies.get(row.partition)):
        return
    if _is_part(row):
        yield AnswerLine(
            _(
                "Tasks of an array and parts of a heterogeneous job are not placed: Slurm starts it where it has room,"
                " even or not."
            )
        )
    else:
        yield AnswerLine(_("It is not placed: Slurm starts it where it has room, even or not."))


def _placed_by_slurm(known: Known, row: Job) -> Iterator[AnswerLine]:
    """Of a part of something, where jobs like it are placed when they stand alone."""
    if _is_part(row) and len(row.alloc) > 1 and wants_even(row, known.policies.get(row.partition)):
        yield AnswerLine(
            _("Slurm chose these nodes: tasks of an array and parts of a heterogeneous job are not placed.")
        )


def _is_part(row: Job) -> bool:
    """Slurm's ids of such parts: `41_7` and `41+1`."""
    return "_" in row.job_id or "+" in row.job_id

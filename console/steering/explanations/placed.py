"""What is said of a job that is to start, or has started, on nodes that were chosen for it."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from console.cluster.models import Job
from console.core import clock
from console.core.saying import names
from console.steering.explanations.answer import AnswerLine
from console.steering.explanations.reading import Known
from console.steering.explanations.wording import kept


def waits_for_its_nodes(known: Known, row: Job) -> Iterator[AnswerLine]:
    """Why Slurm says that it waits for a moment."""
    placed = known.placed
    if placed is None or placed.partition != row.partition or placed.got:
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
    """Whether it runs where it was to run, and how even that is."""
    placed = known.placed
    if placed is None or not placed.got:
        return
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

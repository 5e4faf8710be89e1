"""The victims of a plan as rows of a table: several of one array or group are one row, which unfolds into them.

Which ones are unfolded is in the address (`v_open=41`), as in the lists of jobs.
"""

import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import ngettext

from console.core.l10n_format import amounts
from console.steering.selectors import Loss
from console.steering.work import Work, add_work, work_of, work_short
from scheduler.priority.groups import group_name

OPENED = "v_open"
APART = 3
"""So many victims of one group at most have a row each."""


def fold_anchor(group: str) -> str:
    """An id for the element that unfolds a group: its name may hold any letter."""
    return f"fold-{zlib.crc32(group.encode()):08x}"


@dataclass(frozen=True, slots=True)
class LossRow:
    """A row: one victim, or (with a `group`) several of one user; `first` stands for what is alike in all of them."""

    first: Loss
    group: str = ""
    losses: Sequence[Loss] = ()
    is_open: bool = False

    @property
    def name(self) -> str:
        """What people call the group."""
        return group_name(self.group)

    @property
    def anchor(self) -> str:
        """An id for an element."""
        return fold_anchor(self.group)

    @property
    def tasks(self) -> str:
        """`13 tasks`."""
        return ngettext("%d task", "%d tasks", len(self.losses)) % len(self.losses)

    @property
    def user_level(self) -> str:
        """The level of all of them; empty where they differ."""
        return self._alike("user_level")

    @property
    def task_level(self) -> str:
        """The same of the task level."""
        return self._alike("task_level")

    @property
    def how(self) -> str:
        """How all of them give way; empty where they differ."""
        return self._alike("how")

    @property
    def held(self) -> str:
        """What they hold together."""
        total: Counter[str] = Counter()
        for loss in self.losses:
            total.update(loss.victim.get("amounts") or {})
        return amounts(total)

    @property
    def longest_s(self) -> int:
        """How long the one has run that ran longest."""
        return max(loss.ran_s for loss in self.losses)

    @property
    def work(self) -> str:
        """The work that is lost in all, for a table's cell."""
        total: Work = {}
        for loss in self.losses:
            # `ran_s` of a loss is as of now, that of its victim as of the plan.
            add_work(total, work_of({**loss.victim, "ran_s": loss.ran_s}))
        return work_short(total)

    @property
    def fates(self) -> list[tuple[int, str, str]]:
        """How many came to which end: number, the fate and its words, the most frequent first."""
        counts = Counter(loss.fate.fate for loss in self.losses if loss.fate)
        words = {loss.fate.fate: loss.fate.get_fate_display() for loss in self.losses if loss.fate}
        return [(count, fate, str(words[fate])) for fate, count in counts.most_common()]

    def _alike(self, key: str) -> str:
        said = {str(loss.victim.get(key, "")) for loss in self.losses}
        return said.pop() if len(said) == 1 else ""


def loss_rows(losses: Iterable[Loss], opened: Collection[str] = ()) -> list[LossRow]:
    """The rows in the order of the victims; a group stands where its first one does."""
    together: dict[tuple[str, int], list[Loss]] = {}
    for place, loss in enumerate(losses):
        group = _group(loss)
        together.setdefault((group, 0 if group else place), []).append(loss)
    rows: list[LossRow] = []
    for (group, _place), theirs in together.items():
        if len(theirs) > APART:
            rows.append(LossRow(theirs[0], group, theirs, is_open=group in opened))
        else:
            rows += [LossRow(loss) for loss in theirs]
    return rows


def _group(loss: Loss) -> str:
    """The elastic job that a victim works for, or the array of a task (`41` of `41_7`); empty for another job."""
    array, mark, _task = str(loss.victim["job"]).partition("_")
    return str(loss.victim.get("worker_of") or (array if mark else ""))

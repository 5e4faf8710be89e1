"""Words that several parts use. All text of the cluster goes through `clean` before it stands in a sentence."""

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.cluster.models import Job
from console.core import l10n_format
from console.core.translate import resay
from console.steering.exchanging.sets import runner_of
from console.steering.models import Plan
from console.steering.ways import only_stops
from scheduler.model.policy import Mode
from scheduler.model.reasons import SENTENCES
from scheduler.preemption.sentences import clean

LONGEST_REASON = 300
_SENTENCES: dict[str, str] = {reason.value: sentence for reason, sentence in SENTENCES.items()}


def one_line(text: str, longest: int = LONGEST_REASON) -> str:
    """What a person or a job wrote, as it may stand in a sentence."""
    return clean(" ".join(text.split()), longest)


def kept(text: str, longest: int = LONGEST_REASON) -> str:
    """What is kept in English, in the reader's language."""
    return one_line(resay(text), longest)


def sentence(reason: str) -> str:
    """A machine reason in words; the reason itself when this version does not know it."""
    known = _SENTENCES.get(reason)
    return _(known) if known else one_line(reason.replace("_", " "), 60)


def who(job_id: str, user: str) -> str:
    """`4711 (cy)`."""
    return _("%(job)s (%(user)s)") % {"job": clean(job_id), "user": clean(user)}


def jobs(rows: Iterable[Job], mode: Mode, limit: int = 5) -> str:
    """`99 (ann, P0), 100 (cy, P1) and 3 more`, with the levels by which a partition of this mode decides."""
    return l10n_format.names((_ranked(row, mode) for row in rows), limit)


def level_in_line(row: Job, mode: Mode) -> str:
    """`P1`, or `P1 / P2` where both axes decide; the more important one first."""
    user = _level(row.user_level, row.user_level_name)
    task = _level(row.task_level, row.task_level_name)
    match mode:
        case Mode.USER:
            return user
        case Mode.TASK:
            return task
        case Mode.USER_THEN_TASK:
            return f"{user} / {task}"
        case Mode.TASK_THEN_USER:
            return f"{task} / {user}"


def _level(level: int | None, name: str) -> str:
    return clean(name) if level is not None else _("unconfigured")


def _ranked(row: Job, mode: Mode) -> str:
    facts = {"job": clean(row.job_id), "user": clean(row.user), "level": level_in_line(row, mode)}
    return _("%(job)s (%(user)s, %(level)s)") % facts


def victims(plan: Plan) -> str:
    """`88 (bob) and 91 (eve)`."""
    return l10n_format.names((who(str(v["job"]), str(v.get("user", ""))) for v in plan.victims), 5)


def stopping(plan: Plan, stops: str, gives: str) -> str:
    """What to say of its victims: `stops` when each of them is stopped, else `gives`."""
    return stops if only_stops(plan.victims) else gives


def times(count: int) -> str:
    """`once`, `3 times`."""
    return _("once") if count == 1 else ngettext("%d time", "%d times", count) % count


def lower_first(text: str) -> str:
    """A sentence as it stands inside another one, without its full stop."""
    return text[:1].lower() + text[1:].rstrip(".。")


def exchanged_nodes(plan: Plan) -> dict[str, str]:
    """Of an exchange: the nodes that the running job gives up, and those that it gets, for people."""
    runner = runner_of(plan)
    return {
        "up": l10n_format.names(clean(node) for node in runner["nodes"]),
        "instead": l10n_format.names(clean(node) for node in runner["gets"]),
    }

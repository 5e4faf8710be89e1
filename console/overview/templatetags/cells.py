"""The rows of a list of jobs, a cell for each column. They are written here and not in a template: a page has a
thousand cells, and each list shows other ones."""

import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from django import template
from django.urls import get_script_prefix, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from console.cluster.models import JobPhase
from console.core.l10n_format import in_a_row
from console.core.markup import job_address, link_to, text
from console.core.templatetags.ui import (
    ago,
    duration,
    icon,
    lasted,
    level,
    reason_sentence,
    said,
    since,
    state,
)
from console.core.translate import holding_back, resay
from console.overview.columns import ALWAYS, COLUMNS, RISK, STARTS
from console.overview.folding import Folded, key_of
from console.overview.joblists import JobList
from console.overview.listed import ListedJob
from console.overview.openplans import OpenPlan
from console.overview.starting import chance_words, starts_words
from console.overview.templatetags.console import part_in_plan
from console.steering.models import Plan

register = template.Library()
Plans = Mapping[int, Plan] | Mapping[int, OpenPlan]
DASH = "–"


@register.simple_tag(takes_context=True)
def job_rows(context: Mapping[str, Any], jobs: JobList, plans: Plans) -> SafeString:
    """The rows of a list: for each job its own, or that of its group with those of its tasks when it is unfolded."""
    at, page = reverse("jobs"), _Page(jobs, plans, get_language(), get_script_prefix())
    made: list[str] = []
    for job in jobs.page.object_list:
        group = jobs.folded.get(key_of(job))
        if group is None:
            made += page.row(job, _number(jobs, job, at))
            continue
        made += page.row(job, _fold(context, jobs, group, job), "group")
        for task in group.tasks:
            made += page.row(task, _number(jobs, task, at), "task")
    return SafeString("".join(made))


class Age(NamedTuple):
    """Words that grow older while the rest of a row stays as it is: how long ago, or `since` when."""

    style: str
    moment: int

    @property
    def words(self) -> str:
        """As they are now, for the reader's clock."""
        return str((ago if self.style == "ago" else since)(self.moment))


Piece = str | Age


class _Page(NamedTuple):
    """What all rows of a list have in common."""

    jobs: JobList
    plans: Plans
    language: str | None
    prefix: str

    def row(self, job: ListedJob, first: str, css: str = "") -> Iterator[str]:
        """A job's row; what does not change by itself is remembered by all that it is made of."""
        own = f"{self.jobs.key}-{job.job_id}-{job.partition}" + ("-all" if css == "group" else "")
        attribute = f' class="{css}"' if css else ""
        yield f'<tr data-row="{text(own)}"{attribute}>'
        beside = _Beside(
            first, str(text(part_in_plan(job, self.plans))), *self._expected(job), self.language, self.prefix
        )
        for piece in _pieces(job, self.jobs.keys, beside):
            yield piece if isinstance(piece, str) else piece.words
        yield "</tr>"

    def _expected(self, job: ListedJob) -> tuple[str, str]:
        """What stands in the columns of when it starts and of how likely it is stopped, where they are shown."""
        starts, chance = self.jobs.starts.get(job.job_id), self.jobs.risks.get(job.job_id)
        return (
            text(DASH if starts is None else starts_words(starts)),
            text(DASH if chance is None else _("%(n)s\N{NO-BREAK SPACE}%%") % {"n": chance_words(chance)}),
        )


class _Beside(NamedTuple):
    """What a row shows that is no part of its job, as HTML: its first cell, what a plan has to do with it, what is
    expected of it. The language and where the console is are said here, because rows are remembered by this."""

    first: str
    part: str
    starts: str
    risk: str
    language: str | None
    prefix: str


@lru_cache(maxsize=4096)
def _pieces(job: ListedJob, columns: tuple[str, ...], beside: _Beside) -> tuple[Piece, ...]:
    """The cells of a job's row, in the order of the list's columns, as one text that is cut where an age stands.

    Remembered by all that it is made of, so that no look shows what another one was for: a job that has changed in
    anything that is shown is another key. A zone is none: only ages name one, and they are said anew.
    """
    made: list[Piece] = [""]

    def add(piece: Piece) -> None:
        if isinstance(piece, str) and isinstance(made[-1], str):
            made[-1] += piece
        else:
            made.append(piece)

    for column in columns:
        if column == ALWAYS:
            add(beside.first)
            continue
        title, inside = _cell(column, job, beside)
        attribute = f' title="{text(title)}"' if title else ""
        add(f"<td{_CSS[column]}{attribute}>")
        add(inside if isinstance(inside, Age) else str(text(inside)))
        add("</td>")
    return tuple(made)


def _cell(column: str, job: ListedJob, beside: _Beside) -> "Cell":
    if column in {STARTS, RISK}:
        return "", SafeString(beside.starts if column == STARTS else beside.risk)
    return CELLS[column](job, SafeString(beside.part))


def _fold(context: Mapping[str, Any], jobs: JobList, folded: Folded, job: ListedJob) -> str:
    """The cell that unfolds a group, or folds it again: a link, which a keyboard can follow too."""
    query = context["request"].GET.copy()
    opened = [group for group in query.getlist(jobs.open_param) if group != folded.group]
    query.setlist(jobs.open_param, opened if folded.is_open else [*opened, folded.group])
    query.pop("since", None)
    to, expanded = text(f"?{query.urlencode()}"), "true" if folded.is_open else "false"
    sign = icon("chevron-down" if folded.is_open else "chevron-right")
    return (
        f'<td class="tight"><a class="fold" href="{to}" hx-get="{to}" hx-target="#{text(context["target"])}" '
        f'hx-push-url="true" aria-expanded="{expanded}" id="{jobs.key}-fold-{_anchor(job)}">{sign}'
        f'{text(folded.name)}</a> <span class="quiet">{text(folded.words)}</span></td>'
    )


def _anchor(job: ListedJob) -> str:
    """An id for an element, the same as long as the group is there: its name may hold any letter."""
    return f"{zlib.crc32(repr(key_of(job)).encode()):08x}"


def _number(jobs: JobList, job: ListedJob, at: str) -> str:
    to = text(job_address(at, job.job_id))
    return f'<td class="tight"><a href="{to}" id="{jobs.key}-{job.pk}">{text(job.job_id)}</a></td>'


Cell = tuple[str, SafeString | str | Age]
"""What is told on hover, and what stands there."""


def _plain(value: Callable[[ListedJob], object]) -> Callable[[ListedJob, str], Cell]:
    return lambda job, part: ("", str(value(job) or DASH))


def _age(style: str, moment: int | None) -> Cell:
    return "", Age(style, moment) if moment else DASH


def _name(job: ListedJob, part: str) -> Cell:
    return job.name, job.name


def _nodes(job: ListedJob, part: str) -> Cell:
    nodes = in_a_row(job.nodes)
    return nodes, nodes or DASH


def _partition(job: ListedJob, part: str) -> Cell:
    return "", link_to("partition", job.partition)


def _user(job: ListedJob, part: str) -> Cell:
    return "", link_to("user", job.user) if job.user else DASH


def _runs(job: ListedJob, part: str) -> Cell:
    """How long it has run; of one that has ended, how long it ran."""
    if job.start and job.ended_at:
        return "", lasted(job.start, job.ended_at)
    return _age("since", job.start)


def _now(job: ListedJob, part: str) -> Cell:
    if part:
        return "", format_html('<a href="{}">{}</a>', reverse("plan", args=[job.plan]), part)
    if job.phase == JobPhase.COMPLETING:
        return "", state("completing", _("ending"))
    if job.protected:
        told = format_html("{} {}", icon("shield-check"), _("protected"))
        return "", format_html('<span title="{}">{}</span>', resay(job.sentence("protected")), told)
    return "", state("running", _("running"))


def _why(job: ListedJob, part: str) -> Cell:
    """Why it waits in a line; what its levels come from and what Slurm says when it is opened."""
    if job.phase != JobPhase.PENDING:
        return "", ""
    origins = "".join(f"<dt>{name}</dt><dd>{text(origin)}</dd>" for name, origin in _origins(job))
    part = part or (state("pending", _("held")) if job.held else "")
    before = f"{text(part)} " if part else ""
    return "", SafeString(
        f'<details id="why-{job.pk}"><summary>{before}{_reason(job)}</summary>\n'
        f'<dl class="pairs">{origins}</dl></details>'
    )


def _reason(job: ListedJob) -> str:
    explanation = job.sentence("explain")
    if why := holding_back(explanation):
        return text(_("%(why)s.") % {"why": why[:1].upper() + why[1:]})
    explain = said(explanation)
    if job.reason:
        return f'{text(reason_sentence(job.reason))} <span class="quiet">{text(explain)}</span>'
    return text(explain or job.slurm_reason or DASH)


def _origins(job: ListedJob) -> list[tuple[str, SafeString | str]]:
    found: list[tuple[str, SafeString | str]] = []
    if job.plan:
        found.append((_("Plan"), link_to("plan", job.plan)))
    found.append((_("User level"), said(job.sentence("user_origin")) or _("nothing configured")))
    found.append((_("Task level"), said(job.sentence("task_origin")) or _("nothing configured")))
    if job.slurm_reason:
        found.append((_("Slurm says"), job.slurm_reason))
    return found


CELLS: dict[str, Callable[[ListedJob, str], Cell]] = {
    "place": _plain(lambda job: job.place),
    "phase": lambda job, part: ("", state(job.phase, job.phase_words)),
    "name": _name,
    "user": _user,
    "project": _plain(lambda job: job.project),
    "account": _plain(lambda job: job.account),
    "partition": _partition,
    "user_level": lambda job, part: (
        "",
        level(job.user_level, job.user_level_name, job.sentence("user_origin")),
    ),
    "task_level": lambda job, part: (
        "",
        level(job.task_level, job.task_level_name, job.sentence("task_origin")),
    ),
    "asks": lambda job, part: ("", resay(job.resources)),
    "holds": lambda job, part: ("", resay(job.resources)),
    "nodes": _nodes,
    "submitted": lambda job, part: _age("ago", job.first_submit),
    "waits": lambda job, part: _age("since", job.waits_since),
    "runs": _runs,
    "limit": lambda job, part: ("", duration(job.time_limit_s) if job.time_limit_s else DASH),
    "expected": lambda job, part: _age("ago", job.estimated_start),
    "preemptions": _plain(lambda job: job.preemptions),
    "now": _now,
    "why": _why,
}
"""By the key of the column; the job's number, which leads to its page, is apart."""
CLASSES = {"name": "clip", "why": "why"}
"""Where a cell has another class than its column's head."""
_CSS = {
    key: format_html(' class="{}"', css) if (css := CLASSES.get(key, column.css)) else SafeString("")
    for key, column in COLUMNS.items()
}
assert CELLS.keys() | {ALWAYS, STARTS, RISK} == COLUMNS.keys()  # noqa: S101 - a column without a cell shall not start

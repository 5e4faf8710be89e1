"""The rows of a list of jobs, a cell for each column. They are written here and not in a template: a page has a
thousand cells, and each list shows other ones."""

import zlib
from collections.abc import Callable, Mapping
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.cluster.models import Job, JobPhase
from console.core.markup import job_address, link_to, text
from console.core.resaying import resay
from console.core.saying import say_again as _
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
from console.overview.columns import ALWAYS, COLUMNS, RISK, STARTS
from console.overview.folding import Folded, key_of
from console.overview.joblists import JobList
from console.overview.starting import chance_words, starts_words
from console.overview.templatetags.console import part_in_plan
from console.steering.models import Plan

register = template.Library()
Plans = Mapping[int, Plan]
DASH = "–"


@register.simple_tag(takes_context=True)
def job_rows(context: Mapping[str, Any], jobs: JobList, job: Job, plans: Plans, at: str) -> SafeString:
    """A job's row, or that of its group with those of its tasks when it is unfolded; `at`: the address of all jobs."""
    folded = jobs.folded.get(key_of(job))
    if folded is None:
        return SafeString(_row(jobs, job, plans, _number(jobs, job, at)))
    rows = [_row(jobs, job, plans, _fold(context, jobs, folded, job), "group")]
    rows += [_row(jobs, task, plans, _number(jobs, task, at), "task") for task in folded.tasks]
    return SafeString("".join(rows))


def _row(jobs: JobList, job: Job, plans: Plans, number: str, css: str = "") -> str:
    own = f"{jobs.key}-{job.job_id}-{job.partition}" + ("-all" if css == "group" else "")
    attribute = f' class="{css}"' if css else ""
    return f'<tr data-row="{text(own)}"{attribute}>{job_cells(jobs, job, plans, number)}</tr>'


def _fold(context: Mapping[str, Any], jobs: JobList, folded: Folded, job: Job) -> str:
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


def _anchor(job: Job) -> str:
    """An id for an element, the same as long as the group is there: its name may hold any letter."""
    return f"{zlib.crc32(repr(key_of(job)).encode()):08x}"


def job_cells(jobs: JobList, job: Job, plans: Plans, number: str) -> SafeString:
    """The cells of a job's row, in the order of the list's columns."""
    made = []
    for column in jobs.columns:
        if column.key == ALWAYS:
            made.append(number)
        elif column.key == STARTS:
            made.append(f"<td{_CSS[STARTS]}>{text(_starts(jobs, job))}</td>")
        elif column.key == RISK:
            chance = jobs.risks.get(job.job_id)
            made.append(
                f"<td{_CSS[RISK]}>{text(DASH if chance is None else f'{chance_words(chance)} %')}</td>"
            )
        else:
            title, inside = CELLS[column.key](job, plans)
            attribute = f' title="{text(title)}"' if title else ""
            made.append(f"<td{_CSS[column.key]}{attribute}>{text(inside)}</td>")
    return SafeString("".join(made))


def _number(jobs: JobList, job: Job, at: str) -> str:
    to = text(job_address(at, job.job_id))
    return f'<td class="tight"><a href="{to}" id="{jobs.key}-{job.pk}">{text(job.job_id)}</a></td>'


Cell = tuple[str, SafeString | str]
"""What is told on hover, and what stands there."""


def _plain(value: Callable[[Job], object]) -> Callable[[Job, Plans], Cell]:
    return lambda job, plans: ("", str(value(job) or DASH))


def _name(job: Job, plans: Plans) -> Cell:
    return job.name, job.name


def _nodes(job: Job, plans: Plans) -> Cell:
    nodes = ", ".join(job.alloc)
    return nodes, nodes or DASH


def _partition(job: Job, plans: Plans) -> Cell:
    return "", link_to("partition", job.partition)


def _user(job: Job, plans: Plans) -> Cell:
    return "", link_to("user", job.user) if job.user else DASH


def _starts(jobs: JobList, job: Job) -> str:
    """The middle of what is expected, and from when to when."""
    said = jobs.starts.get(job.job_id)
    if said is None:
        return DASH
    return starts_words(said)


def _now(job: Job, plans: Plans) -> Cell:
    part = part_in_plan(job, plans)
    if part:
        return "", format_html('<a href="{}">{}</a>', reverse("plan", args=[job.plan]), part)
    if job.phase == JobPhase.COMPLETING:
        return "", state("completing", _("ending"))
    if job.protected:
        told = format_html("{} {}", icon("shield-check"), _("protected"))
        return "", format_html('<span title="{}">{}</span>', resay(job.protected), told)
    return "", state("running", _("running"))


def _why(job: Job, plans: Plans) -> Cell:
    """Why it waits in a line; what its levels come from and what Slurm says when it is opened."""
    if job.phase != JobPhase.PENDING:
        return "", ""
    origins = "".join(f"<dt>{name}</dt><dd>{text(origin)}</dd>" for name, origin in _origins(job))
    return "", SafeString(
        f'<details id="why-{job.pk}"><summary>{_part(job, plans)}{_reason(job)}</summary>\n'
        f'<dl class="pairs">{origins}</dl></details>'
    )


def _part(job: Job, plans: Plans) -> str:
    part = part_in_plan(job, plans) or (state("pending", _("held")) if job.held else "")
    return f"{text(part)} " if part else ""


def _reason(job: Job) -> str:
    if job.reason:
        return f'{text(reason_sentence(job.reason))} <span class="quiet">{text(said(job.explain))}</span>'
    return text(said(job.explain) or job.slurm_reason or DASH)


def _origins(job: Job) -> list[tuple[str, SafeString | str]]:
    found: list[tuple[str, SafeString | str]] = []
    if job.plan:
        found.append((_("Plan"), link_to("plan", job.plan)))
    found.append((_("User level"), said(job.user_origin) or _("nothing configured")))
    found.append((_("Task level"), said(job.task_origin) or _("nothing configured")))
    if job.slurm_reason:
        found.append((_("Slurm says"), job.slurm_reason))
    return found


CELLS: dict[str, Callable[[Job, Plans], Cell]] = {
    "place": _plain(lambda job: job.place),
    "phase": lambda job, plans: ("", state(job.phase, job.get_phase_display())),
    "name": _name,
    "user": _user,
    "project": _plain(lambda job: job.project),
    "account": _plain(lambda job: job.account),
    "partition": _partition,
    "user_level": lambda job, plans: ("", level(job.user_level, job.user_level_name, job.user_origin)),
    "task_level": lambda job, plans: ("", level(job.task_level, job.task_level_name, job.task_origin)),
    "asks": lambda job, plans: ("", resay(job.resources)),
    "holds": lambda job, plans: ("", resay(job.resources)),
    "nodes": _nodes,
    "submitted": lambda job, plans: ("", ago(job.first_submit)),
    "waits": lambda job, plans: ("", since(job.waits_since)),
    "runs": lambda job, plans: ("", lasted(job.start, job.ended_at)),
    "limit": lambda job, plans: ("", duration(job.time_limit_s) if job.time_limit_s else DASH),
    "expected": lambda job, plans: ("", ago(job.estimated_start)),
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

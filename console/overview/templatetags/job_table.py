"""The heads, rows and boxes of a list of jobs, written here and not in a template: a page has a thousand cells."""

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString

from console.core.markup import job_address, text
from console.core.templatetags.addresses import sort_link, sort_query
from console.core.templatetags.ui import icon
from console.overview.job_columns import (
    ALWAYS,
    JOB_COLUMNS,
    BesideJob,
    JobColumn,
    ListedJob,
    Plans,
    part_in_plan,
)
from console.overview.job_lists import Folded, JobList, key_of

register = template.Library()


@register.simple_tag(takes_context=True)
def job_rows(context: Mapping[str, Any], jobs: JobList, plans: Plans) -> SafeString:
    """The rows of a list: for each job its own, or that of its group with those of its tasks when it is unfolded."""
    at = reverse("jobs")
    made: list[str] = []
    for job in jobs.page.object_list:
        group = jobs.folded.get(key_of(job))
        if group is None:
            made += _row(jobs, plans, job, _number(jobs, job, at))
            continue
        made += _row(jobs, plans, job, _fold(context, jobs, group, job), "group")
        for task in group.tasks:
            made += _row(jobs, plans, task, _number(jobs, task, at), "task")
    return SafeString("".join(made))


def _row(jobs: JobList, plans: Plans, job: ListedJob, link: str, css: str = "") -> Iterator[str]:
    own = f"{jobs.key}-{job.job_id}-{job.partition}" + ("-all" if css == "group" else "")
    attribute = f' class="{css}"' if css else ""
    yield f'<tr data-row="{text(own)}"{attribute}>'
    start, risk = jobs.starts.get(job.job_id), jobs.risks.get(job.job_id)
    beside = BesideJob(SafeString(link), part_in_plan(job, plans), start, risk)
    for column in jobs.columns:
        yield column.html(job, beside)
    yield "</tr>"


def _fold(context: Mapping[str, Any], jobs: JobList, folded: Folded, job: ListedJob) -> str:
    """The cell that unfolds a group, or folds it again: a link, which a keyboard can follow too."""
    query = context["request"].GET.copy()
    opened = [group for group in query.getlist(jobs.open_param) if group != folded.group]
    query.setlist(jobs.open_param, opened if folded.is_open else [*opened, folded.group])
    query.pop("since", None)
    to, expanded = text(f"?{query.urlencode()}"), "true" if folded.is_open else "false"
    sign = icon("chevron-down" if folded.is_open else "chevron-right")
    return (
        f'<a class="fold" href="{to}" hx-get="{to}" hx-target="#{text(context["target"])}" '
        f'hx-push-url="true" aria-expanded="{expanded}" id="{jobs.key}-fold-{_anchor(job)}">{sign}'
        f'{text(folded.name)}</a> <span class="quiet">{text(folded.words)}</span>'
    )


def _anchor(job: ListedJob) -> str:
    """An id for an element, the same as long as the group is there: its name may hold any letter."""
    return f"{zlib.crc32(repr(key_of(job)).encode()):08x}"


def _number(jobs: JobList, job: ListedJob, at: str) -> str:
    return f'<a href="{text(job_address(at, job.job_id))}" id="{jobs.key}-{job.pk}">{text(job.job_id)}</a>'


@register.simple_tag(takes_context=True)
def column_heads(context: Mapping[str, Any], jobs: JobList) -> SafeString:
    """A head for each column; one that sorts is a link that says how the list is sorted now."""
    return SafeString("".join(_heads(context, jobs, text(str(context.get("target", ""))))))


def _heads(context: Mapping[str, Any], jobs: JobList, target: str) -> Iterator[str]:
    for column in jobs.columns:
        label = text(str(column.label))
        if not column.sort:
            yield f'<th scope="col"{_css(column)}>{label}</th>'
            continue
        link = sort_link(jobs.key, column.sort, jobs.sort)
        to = text(sort_query(context, link))
        sorted_so = f' aria-sort="{link["aria"]}"' if link["aria"] else ""
        arrow = icon(link["icon"]) if link["icon"] else ""
        yield (
            f'<th scope="col"{sorted_so}{_css(column)}><a href="{to}" hx-get="{to}" hx-target="#{target}" '
            f'hx-push-url="true" id="{jobs.key}-head-{column.key}">{label}{arrow}</a></th>'
        )


def _css(column: JobColumn) -> str:
    return f' class="{column.css}"' if column.css else ""


@register.simple_tag
def column_boxes(jobs: JobList) -> SafeString:
    """A box for each column on offer, ticked where it is shown; that of the job itself stays."""
    shown, param = {column.key for column in jobs.columns}, jobs.column_param
    made = []
    for key in jobs.kind.offered:
        marks = (" checked" if key in shown else "") + (" disabled" if key == ALWAYS else "")
        made.append(
            f'<label class="check"><input type="checkbox" name="{param}" value="{key}" id="{param}-{key}"{marks}> '
            f"{text(str(JOB_COLUMNS[key].label))}</label>"
        )
    return SafeString("".join(made))

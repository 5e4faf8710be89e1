"""The columns that a list of jobs can have, each declared once, in the one order of all lists: what it is called, what
stands there, by what it sorts, in which lists it is. Which of them are shown is in the address (`w_col=name`).

A new one is a `JobColumn` here; where it shows what no list has read so far, also a field of `ListedJob`.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import IntegerField, QuerySet, TextField
from django.db.models.functions import Cast
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.cluster.models import Job, JobPhase
from console.core.l10n_format import in_a_row
from console.core.markup import link_to, text
from console.core.sentence_field import read_sentence, written_sentence
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
from console.overview.openplans import OpenPlan
from console.overview.starting import chance_words, starts_words
from console.starts.models import ExpectedStart
from console.steering.models import Plan, PlanKind, PlanState
from console.steering.served import jobs_served
from scheduler.model.jobs import Level
from scheduler.model.policy import Enforcement

Plans = Mapping[int, Plan] | Mapping[int, OpenPlan]
DASH = "–"


class ListedJob(NamedTuple):
    """What a row of a list shows of a job: no more, and no model. Two that are equal look the same in one language.

    `alloc` is JSON; `user_origin`, `task_origin`, `protected` and `explain` are as sentences are kept.
    """

    pk: int
    cluster_id: int
    job_id: str
    partition: str
    name: str
    user: str
    account: str
    group: str
    phase: str
    slurm_reason: str
    held: int
    first_submit: int
    waits_since: int
    start: int
    time_limit_s: int | None
    estimated_start: int | None
    alloc: str
    resources: str
    project: str
    user_level: Level
    task_level: Level
    user_level_name: str
    task_level_name: str
    user_origin: str
    task_origin: str
    protected: str
    preemptions: int
    reason: str
    explain: str
    place: int
    plan: int | None
    ended_at: datetime | None

    @property
    def nodes(self) -> Iterable[str]:
        """Where it is."""
        there: dict[str, Any] = json.loads(self.alloc)
        return there

    @property
    def phase_words(self) -> str:
        """Where it is in its life, as people say it."""
        return str(JobPhase(self.phase).label)

    def sentence(self, field: str) -> str:
        """What is said in one of the fields that keep sentences."""
        return read_sentence(getattr(self, field))


SENTENCES = frozenset({"user_origin", "task_origin", "protected", "explain"})
_AS_KEPT = dict.fromkeys((*SENTENCES, "alloc"), TextField) | {"held": IntegerField}
_FIELDS = tuple(Cast(name, _AS_KEPT[name]()) if name in _AS_KEPT else name for name in ListedJob._fields)


def as_listed(jobs: QuerySet[Job]) -> QuerySet[Job, tuple[Any, ...]]:
    """The same jobs in the same order, each as the parts of a `ListedJob`."""
    return jobs.values_list(*_FIELDS)


def listed(job: Job) -> ListedJob:
    """One that has been read already."""
    parts = {name: getattr(job, name) for name in ListedJob._fields}
    parts |= {name: written_sentence(parts[name]) for name in SENTENCES}
    return ListedJob(**parts | {"alloc": json.dumps(job.alloc)})


class BesideJob(NamedTuple):
    """What a row shows that is no part of its job: the link to it, or to its group's tasks; what an open plan has to do
    with it; what is expected of it, where that column is shown."""

    link: str
    part: SafeString | str
    start: ExpectedStart | None
    risk: float | None


@dataclass(frozen=True, slots=True)
class JobColumn:
    """A column. `cell`: what stands there, escaped unless it is markup; `hover` tells it on hover, too.

    `usual`: the lists in which it is at first, `more`: those in which it may be chosen, by `ListKind.key`. `sort`: the
    name of its order in the address, empty when it has none; `fields`: what that sorts by, unless it is a field of
    that name; `nullable`: they may be null. `css` is for head and cells, `cell_css` for cells that have another one.
    """

    key: str
    label: Promise
    cell: Callable[[ListedJob, BesideJob], str]
    usual: str = ""
    more: str = ""
    sort: str = ""
    fields: tuple[str, ...] | None = None
    nullable: bool = False
    css: str = ""
    cell_css: str = ""
    hover: bool = False

    @property
    def sorts_by(self) -> tuple[str, ...]:
        """The fields of its order."""
        return (self.sort,) if self.fields is None else self.fields

    def html(self, job: ListedJob, beside: BesideJob) -> str:
        """Its cell of a row."""
        css, inside = self.cell_css or self.css, text(self.cell(job, beside))
        attributes = f' class="{css}"' if css else ""
        if self.hover and inside != DASH:
            attributes += f' title="{inside}"'
        return f"<td{attributes}>{inside}</td>"


def _proposed(plan: Plan | OpenPlan) -> SafeString:
    """For whom a plan has been proposed, and what it waits for."""
    if plan.enforcement == Enforcement.APPROVE:
        return state("approve", _("waits for approval"))
    return state("shadow", _("room could be made"))


def part_in_plan(
    job: Job | ListedJob, plans: Mapping[int, Plan] | Mapping[int, OpenPlan]
) -> SafeString | str:
    """What an open plan has to do with a job, as a state; empty when there is none."""
    plan = plans.get(job.plan) if job.plan else None
    if plan is None or plan.not_now:
        return ""
    only_proposed = plan.state == PlanState.PROPOSED
    if plan.kind == PlanKind.GROW:
        return state("shadow", _("could grow")) if only_proposed else state("executing", _("grows"))
    if job.job_id in jobs_served(plan):
        if job.phase != JobPhase.PENDING:
            return state("verified", _("started"))
        if plan.kind == PlanKind.QUOTA:
            return state("pending", _("over quota"))
        if plan.kind == PlanKind.WHOLE:
            return state("pending", _("held until all fit"))
        return _proposed(plan) if only_proposed else state("executing", _("making room"))
    if job.phase == JobPhase.PENDING:
        return state("undone", _("gave way"))
    return state("shadow", _("could give way")) if only_proposed else state("completing", _("gives way"))


def _field(name: str) -> Callable[[ListedJob, BesideJob], str]:
    return lambda job, beside: str(getattr(job, name) or DASH)


def _level(axis: str) -> Callable[[ListedJob, BesideJob], str]:
    return lambda job, beside: level(
        getattr(job, f"{axis}_level"), getattr(job, f"{axis}_level_name"), job.sentence(f"{axis}_origin")
    )


def _runs(job: ListedJob, beside: BesideJob) -> str:
    """How long it has run; of one that has ended, how long it ran."""
    if job.start and job.ended_at:
        return lasted(job.start, job.ended_at)
    return since(job.start or None)


def _risk(job: ListedJob, beside: BesideJob) -> str:
    if beside.risk is None:
        return DASH
    return _("%(n)s\N{NO-BREAK SPACE}%%") % {"n": chance_words(beside.risk)}


def _now(job: ListedJob, beside: BesideJob) -> str:
    if beside.part:
        return format_html('<a href="{}">{}</a>', reverse("plan", args=[job.plan]), beside.part)
    if job.phase == JobPhase.COMPLETING:
        return state("completing", _("ending"))
    if job.protected:
        told = format_html("{} {}", icon("shield-check"), _("protected"))
        return format_html('<span title="{}">{}</span>', resay(job.sentence("protected")), told)
    return state("running", _("running"))


def _why(job: ListedJob, beside: BesideJob) -> str:
    """Why it waits in a line; what its levels come from and what Slurm says when it is opened."""
    if job.phase != JobPhase.PENDING:
        return ""
    origins = "".join(f"<dt>{name}</dt><dd>{text(origin)}</dd>" for name, origin in _origins(job))
    part = beside.part or (state("pending", _("held")) if job.held else "")
    before = f"{text(part)} " if part else ""
    return SafeString(
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


JOB_COLUMNS: dict[str, JobColumn] = {
    column.key: column
    for column in (
        JobColumn("place", gettext_lazy("Line"), _field("place"), usual="w mw", sort="place",
                  fields=("unplaced", "place", "waits_since"), css="num tight"),
        JobColumn("job", gettext_lazy("Job"), lambda job, beside: beside.link, usual="w r j mw mr", sort="job",
                  fields=(), css="tight"),
        JobColumn("phase", gettext_lazy("State"), lambda job, beside: state(job.phase, job.phase_words), usual="j",
                  sort="phase", css="tight"),
        JobColumn("name", gettext_lazy("Name"), lambda job, beside: job.name, usual="w r j mw mr", sort="name",
                  cell_css="clip", hover=True),
        JobColumn("user", gettext_lazy("User"), lambda job, beside: link_to("user", job.user) if job.user else DASH,
                  usual="w r j", sort="user"),
        JobColumn("project", gettext_lazy("Project"), _field("project"), usual="w r j", sort="project"),
        JobColumn("account", gettext_lazy("Account"), _field("account"), more="w r j", sort="account"),
        JobColumn("partition", gettext_lazy("Partition"), lambda job, beside: link_to("partition", job.partition),
                  usual="j mw mr", sort="partition"),
        JobColumn("user_level", gettext_lazy("User level"), _level("user"), usual="w r j mw mr", sort="user_level",
                  fields=("user_level", "task_level"), nullable=True, css="tight"),
        JobColumn("task_level", gettext_lazy("Task level"), _level("task"), usual="w r j mw mr", sort="task_level",
                  fields=("task_level", "user_level"), nullable=True, css="tight"),
        JobColumn("asks", gettext_lazy("Asks for"), lambda job, beside: resay(job.resources), usual="w mw",
                  css="tight"),
        JobColumn("holds", gettext_lazy("Holds"), lambda job, beside: resay(job.resources), usual="r j mr",
                  css="tight"),
        JobColumn("nodes", gettext_lazy("On"), lambda job, beside: in_a_row(job.nodes) or DASH, usual="r mr", more="j",
                  css="clip", hover=True),
        JobColumn("submitted", gettext_lazy("Submitted"), lambda job, beside: ago(job.first_submit or None), usual="j",
                  more="w r", sort="submit", fields=("first_submit",), css="num tight"),
        JobColumn("waits", gettext_lazy("Waits"), lambda job, beside: since(job.waits_since or None), usual="w mw",
                  sort="waits", fields=("waits_since",), css="num tight"),
        JobColumn("runs", gettext_lazy("Runs"), _runs, usual="r mr", more="j", sort="start", css="num tight"),
        JobColumn("limit", gettext_lazy("Time limit"), lambda job, beside: duration(job.time_limit_s or None),
                  usual="mr", more="w r j", sort="limit", fields=("time_limit_s",), nullable=True, css="num tight"),
        JobColumn("risk", gettext_lazy("May be stopped"), _risk, usual="mr", more="r", css="num tight"),
        JobColumn("starts", gettext_lazy("Expected start"),
                  lambda job, beside: starts_words(beside.start) if beside.start else DASH, usual="mw", more="w",
                  css="num tight"),
        JobColumn("expected", gettext_lazy("Slurm expects it"), lambda job, beside: ago(job.estimated_start or None),
                  more="w j", sort="expected", fields=("estimated_start",), nullable=True, css="num tight"),
        JobColumn("preemptions", gettext_lazy("Stopped before"), _field("preemptions"), usual="r", more="w j",
                  sort="preemptions", css="num tight"),
        JobColumn("now", gettext_lazy("State"), _now, usual="r mr", css="tight"),
        JobColumn("why", gettext_lazy("Why"), _why, usual="w j mw", cell_css="why"),
    )
}  # fmt: skip
ALWAYS = "job"
"""A row without its job leads nowhere."""
STARTS, RISK = "starts", "risk"
"""What is told here is no part of the job: it is read only where the column is shown."""

"""The frame's navigation, and what pages of several apps say of partitions, projects, plans and expected starts."""

from typing import Any

from django import template
from django.forms import BaseForm
from django.http import HttpRequest, QueryDict

from console.accounts.permissions import Permission
from console.cluster.selectors import shown_cluster
from console.overview.forms import read_curve, read_inputs, read_tasks
from console.overview.job_columns import part_in_plan
from console.overview.plan_pictures import rooms_of, step_lines
from console.overview.selectors import listed_partitions
from console.overview.starting import between_words, chance_words, sooner_words, starts_words
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.projects.curve import Curve
from console.reports.levels import Inputs, LevelPreview, Named, preview, score_level
from scheduler.model.policy import PartitionPolicy

register = template.Library()
register.simple_tag(part_in_plan)
register.simple_tag(rooms_of, name="plan_rooms")
register.simple_tag(step_lines, name="plan_steps")
register.filter("starts_in", starts_words)
register.filter("starts_between", between_words)
register.filter("hundredths", chance_words)
register.filter("sooner_words", sooner_words)

MOST_LISTED = 24
"""Partitions named in the bar; the overview has them all."""


@register.inclusion_tag("_navigation.html", takes_context=True)
def navigation(context: dict[str, Any]) -> dict[str, Any]:
    """The main navigation."""
    request: HttpRequest = context["request"]
    user = request.user
    partitions = [partition for partition in listed_partitions(user) if partition.revision_id]
    return {
        "request": request,
        "user": user,
        "path": request.path,
        "partitions": partitions[:MOST_LISTED],
        "may": {
            "projects": user.has_perm(Permission.PROJECT_VIEW),
            "decide": user.has_perm(Permission.PLAN_DECIDE),
            # As AUDIT_VIEW, but without asking which rows are one's own.
            "people": user.has_perm(Permission.PEOPLE_VIEW),
            "audit": user.has_perm(Permission.POLICY_VIEW) or user.has_perm(Permission.PROJECT_CHANGE),
            "file": user.has_perm(Permission.CONFIG_EXPORT) or user.has_perm(Permission.POLICY_CHANGE),
        },
    }


@register.simple_tag(takes_context=True)
def levels_of_form(context: dict[str, Any]) -> LevelPreview:
    """What the project's form on this page comes to, as it stands now (typed, or as it is saved)."""
    form, tasks, project = context["form"], context["tasks"], context["project"]
    typed = _typed(form)
    typed["tasks-TOTAL_FORMS"] = len(tasks.forms)
    for row in tasks.forms:
        typed |= {row.add_prefix(name): row[name].value() or "" for name in row.fields}
    return preview(
        project.cluster if project else shown_cluster(),
        read_inputs(typed),
        read_tasks(typed),
        code=project.code if project else "",
        present=Inputs(project.size, project.grade, project.urgency_now) if project else None,
    )


def _typed(form: BaseForm) -> dict[str, Any]:
    return {name: form[name].value() for name in ("size", "grade", "urgency", "urgency_by", "deadline")}


@register.simple_tag(takes_context=True)
def curve_of_form(context: dict[str, Any]) -> Curve | None:
    """The course of the urgency towards the deadline of the project's form on this page."""
    return read_curve(_typed(context["form"]))


@register.simple_tag
def partition_policies() -> list[PartitionPolicy]:
    """The policies of all partitions of the cluster, for a list of projects."""
    rows = Partition.objects.filter(cluster=shown_cluster(), revision__isnull=False).select_related(
        "revision"
    )
    return [policy_of(row) for row in rows]


@register.simple_tag
def level_by_score(policy: PartitionPolicy, score: float) -> Named:
    """The level that a score reaches in a partition."""
    return score_level(policy, score)


@register.simple_tag(takes_context=True)
def here(context: dict[str, Any], **changes: object) -> str:
    """The present address with some parameters changed; an empty one is left out, and so is the poll's version."""
    return f"?{present(context, **changes).urlencode()}"


def present(context: dict[str, Any], **changes: object) -> QueryDict:
    """The same, to be changed further."""
    query: QueryDict = context["request"].GET.copy()
    query.pop("since", None)
    for name, value in changes.items():
        if value == "":
            query.pop(name, None)
        else:
            query[name] = str(value)
    return query

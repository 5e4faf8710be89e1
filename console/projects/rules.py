"""Who may see and change projects, and which rows of the audit log are about one's own."""

from typing import Any

import rules
from django.db.models import Q

from console.accounts.permissions import Permission
from console.accounts.rules import is_administrator, once
from console.audit.contributions import add_scope
from console.projects.models import Project
from console.projects.selectors import managed_projects, sees_all_projects

sees_all = rules.predicate(sees_all_projects, name="sees_all_projects")


@rules.predicate
def manages(user: Any, project: Project | None) -> bool:
    """Is named manager of the project; without one: of any."""
    managed = managed_projects(user)
    return bool(managed) if project is None else project.pk in managed


def rows_of_managed_projects(user: Any) -> Q | None:
    """The audit log's rows about the projects that an account manages."""
    managed = managed_projects(user)
    if not managed:
        return None
    names = Project.objects.filter(pk__in=managed).values_list("cluster__name", "code")
    rows = Q(pk__in=[])
    for cluster, code in once(user, "names of managed projects", lambda: list(names)):
        rows |= Q(cluster=cluster, project=code)
    return rows


rules.add_perm(Permission.PROJECT_VIEW, sees_all | manages)
rules.add_perm(Permission.PROJECT_CHANGE, is_administrator | manages)
rules.add_perm(Permission.PROJECT_CREATE, is_administrator)
rules.add_perm(Permission.PROJECT_PROPOSE, manages)
rules.add_perm(Permission.PROJECT_DELETE, is_administrator)
rules.add_perm(Permission.PROJECT_RULES, is_administrator)
rules.add_perm(Permission.REQUEST_DECIDE, is_administrator)
add_scope("projects", rows_of_managed_projects)

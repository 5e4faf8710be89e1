"""What was lost to waiting for the slowest processor, as a table."""

import csv

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.audit.exporting import BOM, safe_cell
from console.partitions.models import Partition
from console.partitions.selectors import visible_partitions
from console.power.losses import ProjectLoss, losses_of
from console.projects.selectors import sees_all_projects, visible_projects

COLUMNS = ("project", "resource", "runs", "hours", "lost", "share")


def visible_losses(user: object, partition: Partition) -> list[ProjectLoss]:
    """Of the projects that a person may read; of jobs without one too for who sees all."""
    own = None if sees_all_projects(user) else visible_projects(user).values_list("code", flat=True)
    return losses_of(partition.cluster, partition.name, own)


@require_safe
def losses(request: HttpRequest, name: str) -> HttpResponse:
    """Project by project, the most first."""
    partition = get_object_or_404(visible_partitions(person(request)), name=name, revision__isnull=False)
    require_read(request, Permission.PARTITION_VIEW, partition)
    answer = HttpResponse(BOM, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="lost-hours.csv"'
    writer = csv.writer(answer, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(COLUMNS)
    for row in visible_losses(person(request), partition):
        writer.writerow(
            [
                safe_cell(row.project),
                row.resource,
                row.runs,
                *(round(each, 4) for each in (row.hours, row.lost, row.share)),
            ]
        )
    return answer

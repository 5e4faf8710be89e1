"""One node."""

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.cluster.models import Node
from console.cluster.selectors import shown_cluster
from console.core.htmx import render_page, unchanged
from console.overview import nodepage
from console.overview.selectors import listed_partitions
from console.overview.views.home import live_context, observed
from console.power.incidents import standing_on


@require_safe
def node(request: HttpRequest, node_name: str) -> HttpResponse:
    """What it has, who is there and who is expected, for whoever sees one of its partitions."""
    require_read(request, Permission.PARTITION_VIEW)
    cluster = shown_cluster()
    row = Node.objects.filter(cluster=cluster, name=node_name).first()
    visible = {partition.name for partition in listed_partitions(person(request))}
    partitions = [each for each in row.partitions if each in visible] if row else []
    if row is None or not partitions:
        raise Http404(_("There is no such page, or it is not yours to see."))
    nothing_new = unchanged(request, cluster.version, observed(cluster))
    if nothing_new:
        return nothing_new
    context = live_context(cluster) | {
        "node": row,
        "partitions": partitions,
        "units": nodepage.units(row, partitions),
        "capacities": nodepage.capacities(row),
        "there": nodepage.jobs_there(cluster, node_name, partitions),
        "coming": nodepage.coming(cluster, node_name, partitions),
        "incidents": standing_on(cluster, [node_name]),
        "processors": nodepage.processors(cluster, node_name),
    }
    return render_page(request, "overview/node.html", context)

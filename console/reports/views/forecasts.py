"""How good the forecasts of run times, of starts and of stops are."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.cluster.selectors import shown_cluster
from console.forecasts.quality import DAYS, forecast_quality
from console.partitions.selectors import visible_partitions
from console.starts.models import LEAST_JOBS, LEAST_STOPPED
from console.starts.quality import start_quality, stop_quality


@require_safe
def forecasts(request: HttpRequest) -> HttpResponse:
    """The last weeks: how near the forecasts were, what they promised and kept, and the models that were tried."""
    require_read(request, Permission.JOB_VIEW)
    cluster = shown_cluster()
    names = visible_partitions(person(request)).filter(cluster=cluster).values_list("name", flat=True)
    quality = forecast_quality(cluster, list(names))
    starts = start_quality(cluster, list(names))
    stops = stop_quality(cluster, list(names))
    least = {"least_jobs": LEAST_JOBS, "least_stopped": LEAST_STOPPED}
    context = {"quality": quality, "starts": starts, "stops": stops, "days": DAYS, **least}
    return render(request, "reports/forecasts.html", context)

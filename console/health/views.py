"""For machines that watch: liveness, readiness, the worker's pulse, metrics. Nobody signs in here."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from console.health import selectors
from console.health.access import Access, access
from console.health.metrics import text


@login_not_required
@require_safe
@never_cache
def livez(request: HttpRequest) -> JsonResponse:
    """This process answers."""
    return JsonResponse({"status": "ok"})


@login_not_required
@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """The database answers and has all migrations; 503 with the reason otherwise.

    A late worker or a cluster that cannot be observed is told, but no reason to take the pages away.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        missing = selectors.missing_migrations()
        if missing:
            return _unavailable(f"The database lacks {len(missing)} migrations; run manage.py migrate.")
        pulse = selectors.pulse()
    except DatabaseError:
        return _unavailable("The database does not answer.")
    return JsonResponse({"status": "ok", **_told(pulse)})


@login_not_required
@require_safe
@never_cache
def cycle(request: HttpRequest) -> JsonResponse:
    """503 when the worker has not run for too long."""
    try:
        pulse = selectors.pulse()
    except DatabaseError:
        return _unavailable("The database does not answer.")
    if pulse.late:
        return JsonResponse({"status": "late", **_told(pulse)}, status=503)
    return JsonResponse({"status": "ok", **_told(pulse)})


@login_not_required
@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Everything that is measured, for Prometheus."""
    match access(request):
        case Access.GRANTED:
            return HttpResponse(text(), content_type=CONTENT_TYPE_PLAIN_0_0_4)
        case Access.NO_TOKEN:
            return HttpResponse("", status=401, headers={"WWW-Authenticate": 'Bearer realm="metrics"'})
    raise Http404


def _told(pulse: selectors.Pulse) -> dict[str, object]:
    return {
        "cycle_age_s": pulse.cycle_age_s,
        "cycle": "late" if pulse.late else "ok",
        "observation_age_s": pulse.observation_age_s,
        "cluster": settings.GIVEWAY_CLUSTER_NAME,
        "observed": not pulse.fault and pulse.observation_age_s is not None,
    }


def _unavailable(reason: str) -> JsonResponse:
    return JsonResponse({"status": "unavailable", "reason": reason}, status=503)

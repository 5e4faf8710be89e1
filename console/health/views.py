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
def web(request: HttpRequest) -> JsonResponse:
    """The database answers and has all migrations, so the pages can be shown; 503 with the reason otherwise.

    For load balancers: whatever the cycles do, the pages are where it is seen, and where people pause and resume.
    """
    try:
        return _no_pages() or JsonResponse({"status": "ok"})
    except DatabaseError:
        return _unavailable("The database does not answer.")


@login_not_required
@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """The same, and no cycle has failed without a good one since.

    A late worker or a cluster that cannot be observed is told, but no reason to be unready.
    """
    try:
        why_not = _no_pages()
        if why_not:
            return why_not
        pulse = selectors.pulse()
    except DatabaseError:
        return _unavailable("The database does not answer.")
    if pulse.health == selectors.Health.FAILED:
        return JsonResponse({"status": "failed", **_told(pulse)}, status=503)
    return JsonResponse({"status": "ok", **_told(pulse)})


@login_not_required
@require_safe
@never_cache
def cycle(request: HttpRequest) -> JsonResponse:
    """503 when the worker has not run for too long, when its last cycle failed, or when none could see for too long."""
    try:
        pulse = selectors.pulse()
    except DatabaseError:
        return _unavailable("The database does not answer.")
    if pulse.health == selectors.Health.OK:
        return JsonResponse({"status": "ok", **_told(pulse)})
    return JsonResponse({"status": pulse.health.value, **_told(pulse)}, status=503)


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
    """Nobody is signed in: what Slurm or an exception said may have names in it, so it is left out."""
    failed = {"reason": f"The cycle failed in {pulse.where}."} if pulse.where else {}
    return {
        **failed,
        "cycle_age_s": pulse.cycle_age_s,
        "cycle_gap_s": pulse.gaps_s,
        "cycle": pulse.health.value,
        "good_cycle_age_s": pulse.good_age_s,
        "observation_age_s": pulse.observation_age_s,
        "cluster": settings.GIVEWAY_CLUSTER_NAME,
        "observed": not pulse.fault and pulse.observation_age_s is not None,
    }


def _no_pages() -> JsonResponse | None:
    """Why no page can be shown; None when all can."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    missing = selectors.missing_migrations()
    if missing:
        return _unavailable(f"The database lacks {len(missing)} migrations; run manage.py migrate.")
    return None


def _unavailable(reason: str) -> JsonResponse:
    return JsonResponse({"status": "unavailable", "reason": reason}, status=503)

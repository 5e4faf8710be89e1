"""For machines that watch: liveness, readiness, the worker's pulse, metrics. Nobody signs in here."""

import ipaddress
from enum import StrEnum

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from console.health import selectors
from console.health.metrics import text

PROXY_HEADERS = ("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "Via")


class Access(StrEnum):
    """What becomes of somebody who asks for the metrics."""

    GRANTED = "granted"
    NO_TOKEN = "no_token"  # noqa: S105 - a word, not a password
    HIDDEN = "hidden"


def access(request: HttpRequest) -> Access:
    """With a token set, only it counts. Without one, only a request from this machine that came through no proxy.

    Behind a proxy everybody's address is the proxy's, often this machine's own; that a request came through one is seen
    by its headers. A proxy that adds none is told by nothing: then set a token.
    """
    wanted = settings.GIVEWAY_METRICS_TOKEN
    if wanted:
        return Access.GRANTED if constant_time_compare(_bearer(request), wanted) else Access.NO_TOKEN
    through_proxy = any(header in request.headers for header in PROXY_HEADERS)
    return (
        Access.GRANTED
        if _is_local(request.META.get("REMOTE_ADDR", "")) and not through_proxy
        else Access.HIDDEN
    )


def _bearer(request: HttpRequest) -> str:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _is_local(address: str) -> bool:
    """Loopback; not the empty address of a Unix socket, behind which there is always a proxy."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


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

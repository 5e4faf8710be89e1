"""The answer to a request that raised something nobody caught, in a view or in a middleware."""

import sys

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.views.defaults import server_error

from console.core.databases import CLOSED_RETRY_S, RETRY_S, is_closed, is_passing

API = "/api/"
"""What begins like this is asked by programs, and answered in JSON."""
AWAY, AWAY_SAID = (
    "database_away",
    "The database is busy or away, so this was not done. Try again in a few seconds.",
)
CLOSED = "database_closed"
CLOSED_SAID = (
    "The database takes no changes, because its disk is full, broken or read-only; this was not done. "
    "Whoever runs Giveway has to make room."
)


def fault(request: HttpRequest) -> HttpResponse:
    """503 with `Retry-After` while the database is locked, away or full, else 500. None asks it for anything.

    What a page polls goes on showing what it has: htmx puts no error in the place of a part.
    """
    error = sys.exc_info()[1]
    closed = is_closed(error)
    if not (closed or is_passing(error)):
        return server_error(request)
    response: HttpResponse
    if request.path.startswith(API):
        code, said = (CLOSED, CLOSED_SAID) if closed else (AWAY, AWAY_SAID)
        response = JsonResponse({"error": {"code": code, "message": said, "fields": {}}}, status=503)
    else:
        response = HttpResponse(loader.get_template("503.html").render({"closed": closed}), status=503)
    response["Retry-After"] = str(CLOSED_RETRY_S if closed else RETRY_S)
    return response

"""The answer to a request that raised something nobody caught, in a view or in a middleware."""

import sys

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.views.defaults import server_error

from console.core.databases import RETRY_S, is_passing

API = "/api/"
"""What begins like this is asked by programs, and answered in JSON."""
AWAY, AWAY_SAID = (
    "database_away",
    "The database is busy or away, so this was not done. Try again in a few seconds.",
)


def fault(request: HttpRequest) -> HttpResponse:
    """503 with `Retry-After` while the database is locked or away, else 500. Neither asks the database for anything.

    What a page polls goes on showing what it has: htmx puts no error in the place of a part.
    """
    if not is_passing(sys.exc_info()[1]):
        return server_error(request)
    response: HttpResponse
    if request.path.startswith(API):
        response = JsonResponse({"error": {"code": AWAY, "message": AWAY_SAID, "fields": {}}}, status=503)
    else:
        response = HttpResponse(loader.get_template("503.html").render(), status=503)
    response["Retry-After"] = str(RETRY_S)
    return response

"""To the identity provider and back."""

import logging

from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from console.accounts import oidc
from console.accounts.access import request_id
from console.accounts.login_lockout import count_failure, is_barred
from console.accounts.provider import ProviderError
from console.accounts.single_sign_on import NotAdmittedError, admit
from console.accounts.too_many_requests import locked
from console.accounts.views.signing import safe_next

logger = logging.getLogger(__name__)
BACKEND = "console.accounts.backends.PasswordBackend"


@login_not_required
@require_GET
@never_cache
def begin(request: HttpRequest) -> HttpResponse:
    """To the provider. A link and not a form: a form's way elsewhere is what the content security policy refuses."""
    _require_on()
    here = request.build_absolute_uri(reverse("oidc-callback"))
    try:
        return redirect(oidc.begin(request, here, safe_next(request, request.GET.get("next", ""))))
    except ProviderError as error:
        return _refused(request, error, 502)


@login_not_required
@require_GET
@never_cache
def callback(request: HttpRequest) -> HttpResponse:
    """Back from the provider. Each try has us ask it, so that whoever invents answers does not try without end."""
    _require_on()
    if is_barred(request):
        return locked(request)
    try:
        outsider, then = oidc.finish(request)
        user = admit(outsider, request_id=request_id(request))
    except NotAdmittedError as error:
        return _refused(request, error, 403)
    except ProviderError as error:
        count_failure(request)
        return _refused(request, error, 502)
    login(request, user, backend=BACKEND)
    return redirect(safe_next(request, then))


def _require_on() -> None:
    if not oidc.is_on():
        raise Http404


def _refused(request: HttpRequest, error: Exception, status: int) -> HttpResponse:
    logger.warning("single sign-on refused: %s", error)
    return render(request, "accounts/refused.html", {"sentence": str(error)}, status=status)

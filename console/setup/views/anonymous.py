"""The two doors that open without signing in: the first administrator's seat, and an invitation."""

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from console.accounts.access import request_id
from console.accounts.login_lockout import count_failure, is_barred
from console.accounts.models import User
from console.accounts.too_many_requests import locked
from console.core.fields import add_errors
from console.setup.first_admin import TakenError, take_seat
from console.setup.forms import AcceptForm, SeatForm
from console.setup.inviting import SpentError, accept, find
from console.setup.selectors import has_administrator

BACKEND = "console.accounts.backends.PasswordBackend"


@login_not_required
@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def seat(request: HttpRequest) -> HttpResponse:
    """Create the first administrator; once there is one, there is nothing here any more."""
    if has_administrator():
        return _taken(request)
    if is_barred(request):
        return locked(request)
    form = SeatForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        values = {key: form.cleaned_data[key] for key in ("code", "username", "email", "password")}
        try:
            user = take_seat(**values, request_id=request_id(request))
        except TakenError:
            return _taken(request)
        except ValidationError as error:
            if "code" in error.message_dict:
                count_failure(request)
            add_errors(form, error.message_dict.items())
        else:
            return _welcome(request, user)
    return render(request, "setup/administrator.html", {"form": form})


@login_not_required
@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest) -> HttpResponse:
    """Choose the password of the account that one is invited to. The key stands in the query, which no log keeps."""
    if is_barred(request):
        return locked(request)
    key = request.GET.get("key", "")
    try:
        found = find(key)
        form = AcceptForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            try:
                user = accept(key=key, password=form.cleaned_data["password"], request_id=request_id(request))
            except ValidationError as error:
                add_errors(form, error.message_dict.items())
            else:
                return _welcome(request, user)
    except SpentError:
        count_failure(request)
        return render(request, "setup/spent.html", status=404)
    return render(request, "setup/invitation.html", {"form": form, "invitation": found})


def _taken(request: HttpRequest) -> HttpResponse:
    return render(request, "setup/spent.html", {"taken": True}, status=404)


def _welcome(request: HttpRequest, user: User) -> HttpResponse:
    login(request, user, backend=BACKEND)
    messages.success(request, _("Welcome, %(name)s.") % {"name": user.username})
    return redirect("setup" if user.role == "administrator" else "overview")

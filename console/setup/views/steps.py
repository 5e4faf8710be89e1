"""The steps of the first minutes, for administrators. Every one can be put off and come back to."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.accounts.access import person, require_read, require_write, told
from console.accounts.models import User
from console.accounts.permissions import Permission
from console.cluster.selectors import shown_cluster
from console.core.fields import add_errors
from console.health.doctor import directory
from console.setup import selectors
from console.setup.forms import InviteForm, WithdrawForm
from console.setup.inviting import Guest, SpentError, invite, mail_invitation, withdraw
from console.setup.services import put_off, request_examination
from console.setup.signing_in import groups, ways
from console.steering.metrics import read_cadence


def step_context(request: HttpRequest, step: str = "") -> dict[str, Any]:
    """The steps with where one is; 404 for everybody but administrators."""
    require_read(request, Permission.INSTALLATION_SET_UP)
    cluster = shown_cluster()
    steps = selectors.steps(cluster)
    here = next((each for each in steps if each.key == step), None)
    return {"cluster": cluster, "steps": steps, "step": step, "here": here}


@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """All steps, and which is next."""
    return render(request, "setup/setup.html", step_context(request))


@require_POST
def later(request: HttpRequest) -> HttpResponse:
    """Put a step off, or take it up again."""
    require_write(request, Permission.INSTALLATION_SET_UP)
    step = request.POST.get("step", "")
    if step in {key for key, _title, _about in selectors.STEPS}:
        put_off(step, person(request).username)
    return redirect("setup")


@require_http_methods(["GET", "HEAD", "POST"])
def cluster(request: HttpRequest) -> HttpResponse:
    """What the worker finds when it looks at the cluster and at itself, and what to do about it."""
    context = step_context(request, "cluster")
    if request.method == "POST":
        request_examination(context["cluster"])
        messages.success(request, _("The worker has been asked; it answers within seconds."))
        return redirect("setup-cluster")
    found = selectors.examination(context["cluster"])
    levels = {"FAIL": 0, "WARN": 1, "OK": 2}
    findings = sorted(found.told if found else [], key=lambda each: levels[each["level"]])
    context |= {"examination": found, "findings": findings, "cadence": read_cadence(context["cluster"])}
    return render(request, "setup/cluster.html", context)


@require_safe
def sign_in(request: HttpRequest) -> HttpResponse:
    """How people can sign in, what to set for what is off, and what the doctor found of it."""
    context = step_context(request, "sign-in")
    found = selectors.examination(context["cluster"])
    more = {
        "ways": ways(request.build_absolute_uri("/").rstrip("/")),
        "groups": groups(),
        "findings": [each for each in (found.told if found else []) if each["check"] == directory.NAME],
        "examination": found,
        "passwords": sum(
            user.has_usable_password() for user in User.objects.filter(is_active=True).only("password")
        ),
    }
    return render(request, "setup/sign_in.html", context | more)


@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest) -> HttpResponse:
    """Invite somebody; the link is shown once."""
    context = step_context(request, "people")
    form = InviteForm(request.POST or None, cluster=context["cluster"])
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        guest = Guest(
            values["username"], values["role"], values["email"], values["days"],
            tuple(values["partitions"]), tuple(values["projects"]),
        )  # fmt: skip
        try:
            row, key = invite(guest=guest, **told(request, form))
        except ValidationError as error:
            add_errors(form, error.message_dict.items())
        else:
            link = request.build_absolute_uri(f"/invitation/?key={key}")
            context |= {"invited": row, "link": link, "mailed": mail_invitation(row, link)}
            form = InviteForm(cluster=context["cluster"])
    context |= {"form": form, "invitations": selectors.open_invitations()}
    return render(request, "setup/people.html", context)


@require_POST
def withdraw_invitation(request: HttpRequest) -> HttpResponse:
    """Take an invitation back."""
    require_write(request, Permission.INSTALLATION_SET_UP)
    form = WithdrawForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Say why; it stands in the audit log."))
        return redirect("setup-people")
    try:
        withdraw(invitation=form.cleaned_data["invitation"], **told(request, form))
    except SpentError:
        messages.error(request, _("This invitation was used or has ended already."))
    else:
        messages.success(request, _("The link counts no more."))
    return redirect("setup-people")


@require_safe
def shadow(request: HttpRequest) -> HttpResponse:
    """What runs in shadow, and what to look at before anything is enforced."""
    context = step_context(request, "shadow")
    more = {"partitions": selectors.partitions(context["cluster"])}
    return render(request, "setup/shadow.html", context | more)

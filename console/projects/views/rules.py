"""The rules for projects: the schedule of urgency with its curve, the limits for managers, and earlier revisions."""

from datetime import timedelta

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from console.accounts.access import person, request_id, require_read, require_write
from console.accounts.permissions import Permission
from console.audit.models import AuditEntry
from console.audit.selectors import first_differences
from console.core import clock
from console.core.concurrent_changes import ChangedSinceError
from console.core.fields import add_errors
from console.core.htmx import invalid_form_status, render_page
from console.core.rows import Rows, rearranged, typed_form
from console.core.templatetags.cut import LISTED
from console.projects.curve import curve_of
from console.projects.models import ProjectRules
from console.projects.rule_changes import change_rules, rules_row
from console.projects.rulebook import decode_rules
from console.projects.rules_form import STEPS, RulesForm, StepForm, StepRows, rules_from, rules_initial
from console.projects.views.project import READ_OR_WRITE

PAGE = "projects/rules.html"
REVISIONS = 30


@require_http_methods(READ_OR_WRITE)
def project_rules(request: HttpRequest) -> HttpResponse:
    """The rules: a form for those who may set them, the same without buttons for the others."""
    require_read(request, Permission.PROJECT_VIEW)
    if request.method == "POST":
        require_write(request, Permission.PROJECT_RULES)
        return _take(request)
    row = rules_row()
    initial, steps = rules_initial(decode_rules(row.document))
    form = RulesForm(initial={**initial, "version": row.version})
    return _show(request, form, StepRows(prefix=STEPS, initial=steps))


def _take(request: HttpRequest) -> HttpResponse:
    rows = rearranged(request.POST, {STEPS: StepForm})
    if rows is not None:
        form = RulesForm(initial=typed_form(request.POST, RulesForm))
        return _show(request, form, StepRows(prefix=STEPS, initial=rows[STEPS]))
    form, steps = RulesForm(request.POST), StepRows(request.POST, prefix=STEPS)
    if all([form.is_valid(), steps.is_valid()]) and _save(request, form, steps):
        messages.success(request, _("The rules have been saved; they count from the next cycle on."))
        return redirect("project-rules")
    return _show(request, form, steps, invalid=True)


def _save(request: HttpRequest, form: RulesForm, steps: Rows) -> ProjectRules | None:
    try:
        return change_rules(
            actor=person(request).username,
            rules=rules_from(form, steps),
            reason=form.cleaned_data["reason"],
            version=form.cleaned_data["version"] or 0,
            request_id=request_id(request),
        )
    except ChangedSinceError as error:
        form.add_error(None, error.for_people)
    except ValidationError as error:
        faults = error.message_dict
        form.step_faults = faults.pop(STEPS, [])
        add_errors(form, faults.items())
    return None


def _show(request: HttpRequest, form: RulesForm, steps: Rows, *, invalid: bool = False) -> HttpResponse:
    schedule = decode_rules(rules_row().document).schedule
    farthest = max((step.days_left for step in schedule.steps), default=14)
    today = clock.today()
    log = AuditEntry.objects.filter(action="project_rules.changed").order_by("-sequence")[:REVISIONS]
    context = {
        "form": form,
        "steps": steps,
        "may_change": request.user.has_perm(Permission.PROJECT_RULES),
        "curve": curve_of(schedule, 1.0, today + timedelta(days=farthest + 1), today),
        "revisions": [(entry, first_differences(entry, LISTED)) for entry in log],
        "invalid": invalid,
    }
    return render_page(request, PAGE, context, status=invalid_form_status(request) if invalid else 200)

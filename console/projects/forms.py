"""The forms of a project, with rows for its task patterns, of decisions, and of the rules."""

from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from console.core.fields import NamesField, NumberField, ReasonField, WholeField
from console.core.rows import Rows
from console.projects.models import Project, UrgencyBy
from console.projects.rulebook import FLAGS, NUMBERS, ManagerLimits, Rules, SizeGrade
from console.projects.services import ProjectData, TaskData
from console.projects.services import project_data as present_data
from scheduler.priority.deadline import Schedule, UrgencyStep

URGENCY_BY = (
    (UrgencyBy.HAND, _("By hand: the number above")),
    (UrgencyBy.DEADLINE, _("By deadline: rises from the number above to the deadline, then falls back")),
)


def _help(name: str) -> Any:
    field = Project._meta.get_field(name)  # noqa: SLF001 - Django's documented name
    return getattr(field, "help_text", "")


class ProjectForm(forms.Form):
    """What counts for priorities, who is in it, and why it changes. `version` is what the person had read."""

    code = forms.CharField(label=_("Code"), max_length=64, help_text=_help("code"))
    name = forms.CharField(label=_("Name"), max_length=200)
    size = NumberField(label=_("Size"), help_text=_help("size"))
    grade = NumberField(label=_("Grade"), help_text=_help("grade"))
    urgency = NumberField(label=_("Urgency"), help_text=_help("urgency"))
    urgency_by = forms.ChoiceField(
        label=_("The urgency that counts"),
        choices=URGENCY_BY,
        required=False,
        initial=UrgencyBy.HAND,
        widget=forms.RadioSelect,
    )
    deadline = forms.DateField(
        label=_("Deadline"),
        required=False,
        help_text=_help("deadline"),
        input_formats=["%Y-%m-%d"],
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )
    slurm_account = forms.CharField(
        label=_("Slurm account"), max_length=64, required=False, help_text=_help("slurm_account")
    )
    members = NamesField(label=_("Members"), help_text=_("User names on the cluster, one per line."))
    managers = NamesField(
        label=_("Managers"), help_text=_("Account names here, one per line. They may change this project.")
    )
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    reason = ReasonField()
    patterns_help = ""
    """What managers may not do with task patterns; nothing for whom nothing limits."""

    def mark_limits(self, limits: ManagerLimits) -> None:
        """For a manager: what only administrators change is shown and not typed over; a limit says itself."""
        closed = {
            "managers": not limits.managers_set_managers,
            "slurm_account": not limits.managers_set_account,
            "size": limits.size_grade == SizeGrade.ADMINISTRATORS,
            "grade": limits.size_grade == SizeGrade.ADMINISTRATORS,
        }
        for name, is_closed in closed.items():
            if is_closed:
                self.fields[name].widget.attrs["readonly"] = True
                self.fields[name].help_text = _("Only administrators change it here.")
        if limits.size_grade == SizeGrade.BOUNDS:
            self.fields["size"].help_text = _between(limits.size_min, limits.size_max)
            self.fields["grade"].help_text = _between(limits.grade_min, limits.grade_max)
        if limits.urgency_limit is not None:
            self.fields["urgency"].help_text = gettext(
                "Above %(limit)g it waits for an administrator; so does a deadline whose schedule goes above it."
            ) % {"limit": limits.urgency_limit}
        self.patterns_help = " ".join(_of_patterns(limits))


class ProposalForm(ProjectForm):
    """A project that is proposed, and what it would need of partitions."""

    share = forms.CharField(
        label=_("Share it needs"),
        max_length=300,
        required=False,
        help_text=_(
            "Of which partitions, how much: gpu: 16 GPUs for three months. Quotas are set by others."
        ),
    )


def _of_patterns(limits: ManagerLimits) -> Iterator[str]:
    if limits.importance_max is not None:
        yield gettext("Managers may set an importance of %(most)g at most.") % {"most": limits.importance_max}
    if not limits.managers_set_levels:
        yield gettext("Only administrators give a pattern a level of its own here.")


def _between(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return gettext("Managers may set %(least)g to %(most)g.") % {"least": least, "most": most}
    if least is not None:
        return gettext("Managers may set %(least)g or more.") % {"least": least}
    return gettext("Managers may set up to %(most)g.") % {"most": most} if most is not None else ""


class TaskForm(forms.Form):
    """One pattern of job names."""

    pattern = forms.CharField(label=_("Job names"), max_length=200)
    importance = NumberField(label=_("Importance"), initial=1, required=False)
    level = forms.CharField(label=_("Level instead"), max_length=40, required=False)
    one_request = forms.BooleanField(label=_("One request"), required=False)
    elastic_min = WholeField(label=_("Keeps workers"), required=False)
    elastic_wish = WholeField(label=_("Wishes workers"), required=False)


TASKS = "tasks"
PATTERNS: dict[str, type[forms.Form]] = {TASKS: TaskForm}


def project_initial(project: Project) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A project as the form and the rows of its patterns show it."""
    values, tasks = data_initial(present_data(project))
    return {**values, "version": project.version}, tasks


def data_initial(data: ProjectData) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The same of one that is not there yet."""
    values = asdict(data)
    tasks = values.pop("tasks")
    return values, list(tasks)


def project_data(form: ProjectForm, tasks: Rows, code: str | None = None) -> ProjectData:
    """What valid forms say; `code` overrules the form's (it never changes once given)."""
    settable = {each.name for each in fields(ProjectData)}
    values = {key: value for key, value in form.cleaned_data.items() if key in settable}
    rows = tuple(
        TaskData(**{**row, "importance": 1.0 if row["importance"] is None else row["importance"]})
        for _index, row in tasks.filled
    )
    values |= {"code": code or values["code"], "urgency_by": values["urgency_by"] or UrgencyBy.HAND}
    return ProjectData(**values, tasks=rows)


class RequestDecisionForm(forms.Form):
    """Why a request is approved, shortened, rejected or withdrawn, and until when a shortened one holds."""

    until = forms.DateField(
        label=_("Only until an earlier deadline"),
        required=False,
        input_formats=["%Y-%m-%d"],
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        help_text=_("For “Approve until that day”: the urgency follows this deadline instead."),
    )
    reason = ReasonField()


class DeleteForm(forms.Form):
    """Deleting a project, as it was read."""

    version = forms.IntegerField(min_value=0, max_value=2**31 - 1, required=False)
    reason = ReasonField()


SIZE_GRADE = (
    (SizeGrade.FREE, _("set by managers as they see fit")),
    (SizeGrade.BOUNDS, _("set by managers within these bounds")),
    (SizeGrade.ADMINISTRATORS, _("set by administrators only")),
)


def _limit(label: Any, help_text: Any = "") -> NumberField:
    return NumberField(label=label, required=False, help_text=help_text)


class RulesForm(forms.Form):
    """The rules without the steps. `version` is what the person had read."""

    hold_days = WholeField(
        label=_("After the deadline"),
        unit=_("days"),
        help_text=_("For so long the last step's urgency stays; then the project's own counts again."),
    )
    urgency_limit = _limit(
        _("Urgency without approval, at most"),
        _("What a manager sets above it waits for an administrator. Empty: any."),
    )
    size_grade = forms.ChoiceField(label=_("Size and grade are"), choices=SIZE_GRADE)
    size_min = _limit(_("Smallest size"))
    size_max = _limit(_("Largest size"))
    grade_min = _limit(_("Smallest grade"), _("1 is the most important."))
    grade_max = _limit(_("Largest grade"))
    importance_max = _limit(
        _("Importance of a pattern, at most"), _("It multiplies the score, as the urgency does. Empty: any.")
    )
    managers_set_levels = forms.BooleanField(
        label=_("Managers may give a task pattern a level of its own"), required=False
    )
    managers_set_managers = forms.BooleanField(label=_("Managers may name managers"), required=False)
    managers_set_account = forms.BooleanField(label=_("Managers may set the Slurm account"), required=False)
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    reason = ReasonField()
    step_faults: list[str] = []


class StepForm(forms.Form):
    """One step of the schedule."""

    days_left = forms.IntegerField(label=_("Days before the deadline"), min_value=0, max_value=10**6)
    urgency = NumberField(label=_("Urgency at least"))


STEPS = "steps"


def rules_initial(rules: Rules) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Rules as the form and its rows show them."""
    return (
        {"hold_days": rules.schedule.hold_days, **asdict(rules.limits)},
        [asdict(step) for step in rules.schedule.steps],
    )


def rules_from(form: RulesForm, steps: Rows) -> Rules:
    """What valid forms say."""
    values = form.cleaned_data
    rows = tuple(UrgencyStep(row["days_left"], row["urgency"]) for _index, row in steps.filled)
    limits = {key: values[key] for key in (*NUMBERS, *FLAGS)}
    return Rules(
        Schedule(rows, values["hold_days"]),
        ManagerLimits(size_grade=SizeGrade(values["size_grade"]), **limits),
    )

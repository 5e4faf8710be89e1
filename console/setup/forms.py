"""Forms of the first minutes."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.accounts.models import Role
from console.core.fields import NamesField, NumberField, ReasonField
from console.core.rows import Rows, rows_of
from console.partitions.forms import KeywordForm
from console.partitions.models import Partition
from console.projects.models import Project
from console.setup.selectors import UnclaimedAccount

PASSWORD_HELP = _("At least 8 characters, not your name, not a common word.")


def _password(label: Any, help_text: Any = "") -> forms.CharField:
    return forms.CharField(
        label=label,
        strip=False,
        max_length=1000,
        help_text=help_text,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )


class _TwicePassword(forms.Form):
    """A password typed twice."""

    def clean(self) -> dict[str, Any]:
        """Both must say the same."""
        values = super().clean() or {}
        if values.get("password") != values.get("again"):
            self.add_error("again", _("This is not the same password."))
        return values


class SeatForm(_TwicePassword):
    """The first administrator."""

    code = forms.CharField(
        label=_("One-time code"),
        max_length=60,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_("Printed where the server was started, or by: manage.py setup-code"),
    )
    username = forms.CharField(label=_("User name"), max_length=150)
    email = forms.EmailField(label=_("E-mail"), required=False)
    password = _password(_("Password"), PASSWORD_HELP)
    again = _password(_("Password again"))


class AcceptForm(_TwicePassword):
    """A password for the account that one is invited to."""

    password = _password(_("Password"), PASSWORD_HELP)
    again = _password(_("Password again"))


class ProjectRow(forms.Form):
    """A Slurm account that may become a project; `found`: what is known of it."""

    found: UnclaimedAccount | None = None
    take = forms.BooleanField(label=_("Take"), required=False)
    account = forms.CharField(widget=forms.HiddenInput, max_length=64)
    code = forms.CharField(label=_("Code"), max_length=64, required=False)
    size = NumberField(label=_("Size"), required=False)
    grade = NumberField(label=_("Grade"), required=False)
    urgency = NumberField(label=_("Urgency"), required=False)
    members = NamesField(label=_("Members"), widget=forms.TextInput(attrs={"spellcheck": "false"}))


ProjectRows: type[Rows] = rows_of(ProjectRow)


class StartingLevel(KeywordForm):
    """One of the levels to begin with; its row's place is its rank."""

    name = forms.CharField(label=_("Name"), max_length=40)
    min_score = NumberField(label=_("From score"))


LevelRows: type[Rows] = rows_of(StartingLevel)


class ReasonForm(forms.Form):
    """Only the reason."""

    reason = ReasonField()


class InviteForm(forms.Form):
    """Somebody to invite."""

    username = forms.CharField(
        label=_("User name"), max_length=150, help_text=_("Best the one on the cluster.")
    )
    role = forms.ChoiceField(label=_("Role"), choices=Role.choices, initial=Role.VIEWER)
    partitions = forms.ModelMultipleChoiceField(
        label=_("Administers the partitions"),
        queryset=Partition.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    projects = forms.ModelMultipleChoiceField(
        label=_("Manages the projects"),
        queryset=Project.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    email = forms.EmailField(
        label=_("E-mail"), required=False, help_text=_("The link goes there, too, where e-mail is set up.")
    )
    days = forms.TypedChoiceField(
        label=_("The link ends after"),
        coerce=int,
        choices=[(1, _("1 day")), (7, _("7 days")), (30, _("30 days"))],
        initial=7,
    )
    reason = ReasonField()

    def __init__(self, *args: Any, cluster: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own: dict[str, Any] = self.fields
        own["partitions"].queryset = Partition.objects.filter(cluster=cluster, revision__isnull=False)
        own["projects"].queryset = Project.objects.filter(cluster=cluster)


class WithdrawForm(forms.Form):
    """An invitation to take back."""

    invitation = forms.IntegerField(min_value=1, max_value=2**63 - 1)
    reason = ReasonField()

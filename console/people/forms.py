"""Forms about the accounts of others."""

from django import forms
from django.utils.translation import gettext_lazy as _

from console.accounts.models import Role
from console.accounts.services import AccountData
from console.core.fields import ReasonField


class AccountForm(forms.Form):
    """All that may be set on an account, but its password, which is its owner's."""

    role = forms.ChoiceField(label=_("Role"), choices=Role.choices)
    active = forms.BooleanField(
        label=_("May sign in"), required=False,
        help_text=_("Off: sessions end at once, and API tokens count no more until it is on again."),
    )  # fmt: skip
    email = forms.EmailField(label=_("E-mail"), required=False)
    cluster_user = forms.CharField(
        label=_("User name on the cluster"), required=False, max_length=64, help_text=_("Empty: the same as here."),
    )  # fmt: skip
    reason = ReasonField()

    def data_of_account(self) -> AccountData:
        """What the service takes."""
        return AccountData(**{key: value for key, value in self.cleaned_data.items() if key != "reason"})

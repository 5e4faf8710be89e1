"""Forms of one's own account."""

from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from console.accounts.models import Scope
from console.accounts.single_sign_on import DirectoryError, NotAdmittedError
from console.accounts.tokens import USUAL_DAYS


class SignInForm(AuthenticationForm):
    """Name and password."""

    error_messages = {
        "invalid_login": _("This name and password do not belong together. Both are case-sensitive."),
        "inactive": _("This account is switched off."),
    }

    def clean(self) -> dict[str, Any]:
        """A directory that is away, or does not let in, says so itself."""
        try:
            return super().clean()
        except (DirectoryError, NotAdmittedError) as error:
            raise ValidationError(str(error), code="directory") from error


class OwnPasswordForm(PasswordChangeForm):
    """Change one's own password; the old one is asked for, and a wrong one counts as a guess at the sign-in."""

    def __init__(self, *args: Any, request: HttpRequest | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request
        self.fields["old_password"].widget.attrs.pop("autofocus", None)
        self.fields["new_password1"].help_text = _("At least 8 characters, not your name, not a common word.")
        self.fields["new_password2"].label = _("New password again")
        self.fields["new_password2"].help_text = ""

    def clean_old_password(self) -> str:
        """Whoever has found an open page must not try passwords without end; axes answers when it is too many."""
        old: str = self.cleaned_data["old_password"]
        found = authenticate(self.request, username=self.user.get_username(), password=old)
        if found is None or found.pk != self.user.pk:
            raise ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return old


class TokenForm(forms.Form):
    """A new API token: what for, how much it may do, how long."""

    name = forms.CharField(label=_("Name"), max_length=60, help_text=_("What uses it: “nightly report”."))
    scope = forms.ChoiceField(label=_("It may"), choices=Scope.choices, initial=Scope.READ)
    days = forms.TypedChoiceField(
        label=_("It ends after"),
        coerce=int,
        choices=[(7, _("7 days")), (30, _("30 days")), (90, _("90 days")), (365, _("365 days"))],
        initial=USUAL_DAYS,
    )

    def add_errors(self, error: ValidationError) -> None:
        """A service's faults at the fields of the form."""
        for field, messages in error.message_dict.items():
            self.add_error(field if field in self.fields else None, messages)

"""Forms of one's own account."""

from typing import Any

from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.utils.translation import gettext_lazy as _


class SignInForm(AuthenticationForm):
    """Name and password."""

    error_messages = {
        "invalid_login": _("This name and password do not belong together. Both are case-sensitive."),
        "inactive": _("This account is switched off."),
    }


class OwnPasswordForm(PasswordChangeForm):
    """Change one's own password; the old one is asked for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["old_password"].widget.attrs.pop("autofocus", None)
        self.fields["new_password1"].help_text = _("At least 8 characters, not your name, not a common word.")
        self.fields["new_password2"].label = _("New password again")
        self.fields["new_password2"].help_text = ""

"""Forms of one's own account."""

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

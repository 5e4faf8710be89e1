"""What the accounts tell: a token does not outlive the password it was got with, nor the account."""

from typing import Any

from django.dispatch import receiver

from console.accounts.models import User
from console.accounts.signals import account_saved
from console.accounts.tokens import revoke_all_tokens


@receiver(account_saved, dispatch_uid="api.account_saved")
def end_tokens(*, actor: str, user: User, after: dict[str, Any], request_id: str, **_: Any) -> None:
    """In the transaction of the change."""
    if "password" in after or not user.is_active:
        revoke_all_tokens(user, actor=actor, request_id=request_id)

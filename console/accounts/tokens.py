"""Giving out and taking back the token of one's own account. The audit log hears of both."""

from django.db import transaction
from rest_framework.authtoken.models import Token

from console.accounts.models import User
from console.accounts.signals import token_changed


@transaction.atomic
def renew_token(user: User, *, actor: str, request_id: str = "") -> str:
    """A new token; the one before, if any, stops working at once."""
    Token.objects.filter(user=user).delete()
    token = Token.objects.create(user=user)
    token_changed.send(sender=User, actor=actor, user=user, made=True, request_id=request_id)
    return str(token.key)


@transaction.atomic
def revoke_token(user: User, *, actor: str, request_id: str = "") -> bool:
    """Whether there was a token to take back."""
    number, _ = Token.objects.filter(user=user).delete()
    if number:
        token_changed.send(sender=User, actor=actor, user=user, made=False, request_id=request_id)
    return bool(number)

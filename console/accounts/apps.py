"""Django's entry for the `accounts` app."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """The `accounts` app."""

    name = "console.accounts"
    label = "accounts"

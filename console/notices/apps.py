"""Django's entry for the `notices` app."""

from django.apps import AppConfig


class NoticesConfig(AppConfig):
    """The `notices` app."""

    name = "console.notices"
    label = "notices"

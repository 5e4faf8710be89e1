"""Django's entry for the `starts` app."""

from django.apps import AppConfig


class StartsConfig(AppConfig):
    """The `starts` app."""

    name = "console.starts"
    label = "starts"

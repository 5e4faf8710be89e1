"""Django's entry for the `overview` app."""

from django.apps import AppConfig


class OverviewConfig(AppConfig):
    """The `overview` app."""

    name = "console.overview"
    label = "overview"

"""Django's entry for the `health` app."""

from django.apps import AppConfig


class HealthConfig(AppConfig):
    """The `health` app."""

    name = "console.health"
    label = "health"

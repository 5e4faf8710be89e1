"""Django's entry for the `steering` app."""

from django.apps import AppConfig


class SteeringConfig(AppConfig):
    """The `steering` app."""

    name = "console.steering"
    label = "steering"

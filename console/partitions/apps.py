"""Django's entry for the `partitions` app."""

from django.apps import AppConfig


class PartitionsConfig(AppConfig):
    """The `partitions` app."""

    name = "console.partitions"
    label = "partitions"

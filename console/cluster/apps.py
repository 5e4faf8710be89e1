"""Django's entry for the `cluster` app."""

from django.apps import AppConfig


class ClusterConfig(AppConfig):
    """The `cluster` app."""

    name = "console.cluster"
    label = "cluster"

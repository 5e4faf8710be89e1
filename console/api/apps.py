"""Django's entry for the `api` app."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The `api` app."""

    name = "console.api"
    label = "api"

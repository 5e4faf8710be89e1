"""Django's entry for the `api` app."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The `api` app."""

    name = "console.api"
    label = "api"

    def ready(self) -> None:
        """Start to listen to the accounts."""
        from console.api import receivers  # noqa: F401 - its receivers connect themselves

"""Django's entry for the `history` app."""

from django.apps import AppConfig


class HistoryConfig(AppConfig):
    """The `history` app."""

    name = "console.history"
    label = "history"

    def ready(self) -> None:
        """Record what the cycles see from now on."""
        from console.history import receivers  # noqa: F401 - models are ready only now

"""Django's entry for the `history` app."""

from django.apps import AppConfig


class HistoryConfig(AppConfig):
    name = "console.history"
    label = "history"

    def ready(self) -> None:
        from console.history import receivers  # noqa: F401 - models are ready only now

"""Django's entry for the `core` app."""

from django.apps import AppConfig


class CoreConfig(AppConfig):
    """The `core` app."""

    name = "console.core"
    label = "core"

    def ready(self) -> None:
        """Make the lines of differences known."""
        from console.core import sentences
        from scheduler.model.sentence import add_lines

        add_lines(sentences.SENTENCES)

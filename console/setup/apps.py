"""Django's entry for the `setup` app."""

from django.apps import AppConfig


class SetupConfig(AppConfig):
    """The `setup` app."""

    name = "console.setup"
    label = "setup"

    def ready(self) -> None:
        """Make the app's sentences known."""
        from console.setup.sentences import SENTENCES
        from scheduler.model.sentence import add_lines

        add_lines(SENTENCES)

"""Django's entry for the `power` app."""

from django.apps import AppConfig


class PowerConfig(AppConfig):
    """The `power` app."""

    name = "console.power"
    label = "power"

    def ready(self) -> None:
        """Make the app's sentences known."""
        from console.power.sentences import SENTENCES
        from scheduler.model.sentence import add_lines

        add_lines(SENTENCES)

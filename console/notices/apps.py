"""Django's entry for the `notices` app."""

from django.apps import AppConfig


class NoticesConfig(AppConfig):
    """The `notices` app."""

    name = "console.notices"
    label = "notices"

    def ready(self) -> None:
        """Make the lines of notices known."""
        from console.notices import sentences
        from scheduler.model.sentence import add_lines

        add_lines(sentences.SENTENCES)

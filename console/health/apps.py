"""Django's entry for the `health` app."""

from django.apps import AppConfig


class HealthConfig(AppConfig):
    """The `health` app."""

    name = "console.health"
    label = "health"

    def ready(self) -> None:
        """Make the doctor's sentences known."""
        from console.health import sentences, slurm_sentences
        from scheduler.model.sentence import add_lines

        add_lines(sentences.SENTENCES)
        add_lines(slurm_sentences.SENTENCES)

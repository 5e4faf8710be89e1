"""Django's entry for the `steering` app."""

from django.apps import AppConfig


class SteeringConfig(AppConfig):
    """The `steering` app."""

    name = "console.steering"
    label = "steering"

    def ready(self) -> None:
        """Differences of plans and steps say values as pages do."""
        from console.core.labels import label_values
        from console.core.vocabulary import WORDS
        from console.steering.models import PlanState
        from console.steering.models.checkpoints import Via
        from scheduler.model.actions import ActionKind

        label_values("state", PlanState.choices)
        label_values("kind", ((each, WORDS[each]) for each in ActionKind))
        label_values("via", Via.choices)

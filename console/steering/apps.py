"""Django's entry for the `steering` app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class SteeringConfig(AppConfig):
    """The `steering` app."""

    name = "console.steering"
    label = "steering"

    def ready(self) -> None:
        """Differences of plans and steps say values as pages do."""
        from console.core.labels import add_labels
        from console.core.vocabulary import WORDS
        from console.steering.models import PlanState
        from console.steering.models.plans import Fate, IncidentKind, Via
        from scheduler.model.actions import ActionKind
        from scheduler.model.plan import How

        add_labels("state", PlanState.choices)
        add_labels("kind", ((each, WORDS[each]) for each in ActionKind))
        add_labels("kind", IncidentKind.choices)
        add_labels("via", Via.choices)
        add_labels("victims", Fate.choices)
        add_labels("how", ((each, WORDS[each]) for each in How if each in WORDS))
        for level in ("user_level", "task_level"):
            add_labels(level, [("unconfigured", gettext_lazy("unconfigured"))])

"""Django's entry for the `steering` app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class SteeringConfig(AppConfig):
    """The `steering` app."""

    name = "console.steering"
    label = "steering"

    def ready(self) -> None:
        """Differences of plans and steps say values as pages do."""
        from console.core.labels import label_values
        from console.core.vocabulary import WORDS
        from console.steering.models import PlanState
        from console.steering.models.plans import Fate, IncidentKind, Via
        from scheduler.model.actions import ActionKind
        from scheduler.model.plan import How

        label_values("state", PlanState.choices)
        label_values("kind", ((each, WORDS[each]) for each in ActionKind))
        label_values("kind", IncidentKind.choices)
        label_values("via", Via.choices)
        label_values("victims", Fate.choices)
        label_values("how", ((each, WORDS[each]) for each in How if each in WORDS))
        for level in ("user_level", "task_level"):
            label_values(level, [("unconfigured", gettext_lazy("unconfigured"))])

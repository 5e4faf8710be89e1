"""Django's entry for the `partitions` app."""

from django.apps import AppConfig


class PartitionsConfig(AppConfig):
    """The `partitions` app."""

    name = "console.partitions"
    label = "partitions"

    def ready(self) -> None:
        """Differences of policies say values as the policy's form and the heads of pages do."""
        from console.core.labels import label_values
        from console.core.vocabulary import WORDS
        from console.partitions import choices
        from scheduler.model.policy import Enforcement, Mode

        label_values("mode", ((each, WORDS[each]) for each in Mode))
        label_values("enforcement", ((each, WORDS[each]) for each in Enforcement))
        label_values("over_quota", choices.OVER_QUOTA)
        label_values("keyword_denied", choices.KEYWORD_DENIED)
        label_values("not_requeueable", choices.NOT_REQUEUEABLE)
        label_values("victim_order", choices.VICTIM_ORDERS)
        label_values("order", choices.ORDERS)
        label_values("partial", choices.PARTIAL)
        label_values("give_back", choices.GIVE_BACK)

"""Django's entry for the `partitions` app."""

from django.apps import AppConfig


class PartitionsConfig(AppConfig):
    """The `partitions` app."""

    name = "console.partitions"
    label = "partitions"

    def ready(self) -> None:
        """Differences of policies say values as the policy's form and the heads of pages do."""
        from console.core.labels import add_labels
        from console.core.vocabulary import WORDS
        from console.partitions.forms import choices_of
        from scheduler.model.policy import SETTINGS, Enforcement, Mode
        from scheduler.model.policy_setting import SettingKind

        add_labels("mode", ((each, WORDS[each]) for each in Mode))
        add_labels("enforcement", ((each, WORDS[each]) for each in Enforcement))
        for key, setting in SETTINGS.items():
            if setting.kind is SettingKind.CHOICE and key not in {"mode", "enforcement"}:
                add_labels(key, choices_of(key))

"""A form's fields of the settings of a policy, made from how they are declared."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.core.fields import SwitchField, WholeField
from console.partitions.patterns import PatternsField
from scheduler.model.policy import SETTINGS
from scheduler.model.policy_setting import PolicySetting, SettingKind

RADIO = "first"
"""The section in which choices stand one under the other."""
UNITS = {"seconds": _("seconds"), "times": _("times"), "jobs": _("jobs")}


def choices_of(key: str) -> list[tuple[Any, Any]]:
    """The values of a setting with their words; of a switch as `true` and `false`."""
    return [
        (str(value).lower() if isinstance(value, bool) else value, _(words))
        for value, words in SETTINGS[key].words.items()
    ]


def setting_fields() -> dict[str, forms.Field]:
    """New ones of all settings, by key."""
    return {key: _field(setting) for key, setting in SETTINGS.items()}


def _field(setting: PolicySetting) -> forms.Field:
    words: dict[str, Any] = {"label": _(setting.title), "help_text": _(setting.help) if setting.help else ""}
    match setting.kind:
        case SettingKind.SECONDS:
            return WholeField(unit=UNITS["seconds"], **words)
        case SettingKind.TIMES:
            return WholeField(unit=UNITS[setting.unit], **words)
        case SettingKind.LIMIT | SettingKind.LIMIT_FROM_1:
            return WholeField(unit=UNITS[setting.unit], required=False, **words)
        case SettingKind.PATTERNS:
            return PatternsField(**words)
        case SettingKind.SIGNAL:
            return forms.CharField(required=False, max_length=10, **words)
        case SettingKind.SWITCH:
            return SwitchField(choices=choices_of(setting.key), **words)
        case SettingKind.CHOICE:
            widget = forms.RadioSelect if setting.section == RADIO else forms.Select
            return forms.ChoiceField(choices=choices_of(setting.key), widget=widget, **words)

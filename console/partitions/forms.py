"""The forms of a policy: its settings, rows of levels, overrides and task types, balance, and the matrix of quotas."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms import BoundField
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from console.core import clock
from console.core.fields import NamesField, NumberField, ReasonField, SwitchField, WholeField, WithinTime
from console.core.l10n_format import set_in_type
from console.partitions.models import Partition, PolicyDraft
from console.partitions.quotas import JOBS, QuotaKind, limits_of, resource_word, resources_of
from console.partitions.selectors import decoded, policy_of
from scheduler.contracts.config import encode_policy
from scheduler.contracts.rules import encode_balance
from scheduler.model.policy import SETTINGS, AppliesTo, Balance, LevelRule, Otherwise, PartitionPolicy
from scheduler.model.policy_setting import PolicySetting, SettingKind
from scheduler.model.task_types import ShrinkHow, TaskType

_BETWEEN = re.compile(r"[,\r\n]")
_QUOTED = re.compile(r'\s*("(?:[^"\\]|\\.)*")\s*(?:[,\r\n]|\Z)')


class PatternsField(forms.CharField):
    """Patterns as a tuple, each once, in the order given.

    Blanks inside a pattern belong to it: job names may hold them. One that holds a comma, a line break, a quotation
    mark or a blank at its end stands as a JSON text in quotation marks, so that what is shown can be sent back.
    """

    def __init__(self, *, one_line: bool = False, **kwargs: Any) -> None:
        attributes = {"spellcheck": "false", "autocomplete": "off"}
        widget: forms.Widget = (
            forms.TextInput(attributes) if one_line else forms.Textarea({"rows": 2, **attributes})
        )
        self._between = ", " if one_line else "\n"
        super().__init__(required=False, strip=False, widget=widget, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        """A list as text."""
        return self._between.join(_shown(value)) if isinstance(value, (list, tuple)) else value

    def clean(self, value: Any) -> Any:
        """The patterns."""
        return tuple(dict.fromkeys(_patterns(super().clean(value) or "")))


def _shown(patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        plain = pattern == pattern.strip() and pattern.isprintable() and not re.search('[,"]', pattern)
        yield pattern if plain else json.dumps(pattern)


def _patterns(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        quoted = _QUOTED.match(text, at)
        if quoted:
            yield _unquoted(quoted[1])
            at = quoted.end()
            continue
        between = _BETWEEN.search(text, at)
        end = between.start() if between else len(text)
        plain = text[at:end].strip()
        if plain:
            yield plain
        at = end + 1


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        raise ValidationError(gettext("%(text)s is no text in quotation marks.") % {"text": text}) from None


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


class KeywordForm(forms.Form):
    """The keyword of one level. Open is chosen, never left over: a row without names is nobody's."""

    keyword = forms.CharField(label=_("Keyword"), max_length=60, required=False)
    keyword_users = PatternsField(label=_("Who may use the keyword"), one_line=True)
    keyword_users.widget.attrs["placeholder"] = _("nobody")
    keyword_open = forms.BooleanField(label=_("Everybody may use the keyword"), required=False)

    def clean(self) -> dict[str, Any]:
        """Everybody, or some."""
        values = super().clean() or {}
        if values.get("keyword_open") and values.get("keyword_users"):
            self.add_error("keyword_users", gettext("Everybody, or these names: choose one of the two."))
        return values


def keyword_initial(rule: LevelRule) -> dict[str, Any]:
    """A level's keyword as the form shows it."""
    return {
        "keyword": rule.keyword or "",
        "keyword_users": rule.keyword_users or (),
        "keyword_open": bool(rule.keyword) and rule.keyword_users is None,
    }


def users_of(row: dict[str, Any]) -> tuple[str, ...] | None:
    """Who may use the keyword of a valid row; None: everybody, or there is no keyword to be used."""
    names: tuple[str, ...] = row["keyword_users"]
    return names or (() if row["keyword"] and not row["keyword_open"] else None)


BALANCE = "balance"
PREFIX = "balance_"
KEYS = ("resource", "max_distance", "else", "applies_to", "swap_below_s", "most_wait_s")
"""The keys of `balance` in the priority file; the form's fields are called like them, with the prefix."""
APPLIES_TO = (
    (AppliesTo.ALL, _("every job that asks for several processors")),
    (AppliesTo.ASKED, _("jobs that ask for one (balanced), and those whose type says so")),
)
OTHERWISE = (
    (Otherwise.WAIT, _("the job waits")),
    (Otherwise.NEAREST, _("the job takes the nearest set, and its page says how uneven it is")),
)
USUAL = {"else": Otherwise.WAIT.value, "applies_to": AppliesTo.ALL.value, "swap_below_s": 0, "most_wait_s": 0}


class BalanceForm(forms.Form):
    """Who gets nodes of equal compute power, and how equal they are to be."""

    balance_resource = forms.CharField(
        label=_("Measured resource"),
        required=False,
        max_length=64,
        help_text=_("gpu, or cpu. Empty: the partition has no rule; a job that asks gets the nearest set."),
    )
    balance_max_distance = NumberField(
        label=_("Largest difference"),
        required=False,
        help_text=_("Between the fastest and the slowest processor of a set, in the unit of the figures."),
    )
    balance_applies_to = forms.ChoiceField(label=_("Even sets are for"), choices=APPLIES_TO, required=False)
    balance_else = forms.ChoiceField(label=_("Where no set is even"), choices=OTHERWISE, required=False)
    balance_most_wait_s = WholeField(
        label=_("It waits for an even set at most"),
        unit=_("seconds"),
        required=False,
        help_text=_("After that it takes the nearest set. 0: it waits as long as it takes."),
    )
    balance_swap_below_s = WholeField(
        label=_("An exchange only with jobs younger than"),
        unit=_("seconds"),
        required=False,
        help_text=_("A job that exchanges a node begins again. 0: none does."),
    )

    def clean(self) -> dict[str, Any] | None:
        """A rule needs both its resource and its difference."""
        values = super().clean()
        resource, distance = (self.cleaned_data.get(PREFIX + key) for key in ("resource", "max_distance"))
        if resource and distance is None and f"{PREFIX}max_distance" not in self.errors:
            self.add_error(f"{PREFIX}max_distance", gettext("Say how far apart a set may be."))
        if distance is not None and not resource and f"{PREFIX}resource" not in self.errors:
            self.add_error(f"{PREFIX}resource", gettext("Say which resource is measured."))
        return values


def balance_initial(balance: Balance | None) -> dict[str, Any]:
    """A rule as the form shows it."""
    written = USUAL | ({} if balance is None else encode_balance(balance))
    return {PREFIX + key: written[key] for key in KEYS if key in written}


def balance_document(values: dict[str, Any]) -> dict[str, Any] | None:
    """What a valid form says of it, taken out of its values, as the priority file has it."""
    said = {key: values.pop(PREFIX + key) for key in KEYS}
    if not said["resource"]:
        return None
    return said | {key: said[key] or value for key, value in USUAL.items()}


TYPES = "types"
"""Prefix of the rows."""
MINUTE = 60
HOW = (
    ("", _("as is safest")),
    (ShrinkHow.TASKS, _("as tasks")),
    (ShrinkHow.INPLACE, _("in place")),
    (ShrinkHow.RESTART, _("by a restart")),
)


class TaskTypeForm(forms.Form):
    """One row; the first that fits a job's name counts. The time is in minutes, as sbatch takes it."""

    pattern = forms.CharField(label=_("Job names"), max_length=200)
    cpus = WholeField(label=_("CPUs"), required=False)
    gpus = WholeField(label=_("GPUs"), required=False)
    memory_mb = WholeField(label=_("Memory, MB"), required=False)
    minutes = WholeField(label=_("Minutes"), required=False)
    elastic_min = WholeField(label=_("Keeps workers"), required=False)
    elastic_wish = WholeField(label=_("Wishes workers"), required=False)
    elastic_how = forms.ChoiceField(label=_("Gives them up"), choices=HOW, required=False)
    balanced = forms.BooleanField(label=_("Even set"), required=False)


def task_type_initial(row: TaskType) -> dict[str, Any]:
    """A row as the form shows it; a time that is no whole number of minutes is shown as the next one."""
    minutes = None if row.time_s is None else -(-row.time_s // MINUTE)
    shown = ("pattern", "cpus", "gpus", "memory_mb", "elastic_min", "elastic_wish", "elastic_how", "balanced")
    return {**{name: getattr(row, name) for name in shown}, "minutes": minutes}


def task_type_document(row: dict[str, Any]) -> dict[str, Any]:
    """A valid row as the priority file has it."""
    said = {name: value for name, value in row.items() if name != "minutes"}
    document = {name: value for name, value in said.items() if value not in (None, "", False)}
    if row["minutes"] is not None:
        document["time_s"] = row["minutes"] * MINUTE
    return document


UNCONFIGURED = "unconfigured"
LEVELS, USERS, TASKS = "levels", "users", "tasks"
FURTHER_QUOTAS = {"quota_amounts": "amounts", "quota_totals": "totals"}
"""Keys of a policy whose limits go with the rows of levels, and the columns that hold them."""
MOMENT = "%Y-%m-%dT%H:%M:%S"


class PolicyForm(BalanceForm):
    """A policy without its rows. `based_on` is the revision that the person had read."""

    bands = forms.CharField(
        label=_("Bands"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=_(
            "One band per line, the highest first: P0, P1. Only jobs of a lower band make room; “unconfigured” stands "
            "for jobs without a level. Empty: every level is a band of its own."
        ),
    )
    admins = NamesField(
        label=_("Administrators of this partition"),
        help_text=_("Account names here, one per line. They may change this policy."),
    )
    draft_name = forms.CharField(
        label=_("Name of the draft"),
        required=False,
        max_length=80,
        help_text=_("A draft is kept beside the policy in force and changes nothing."),
    )
    based_on = forms.IntegerField(widget=forms.HiddenInput, required=False)
    reason = ReasonField()


PolicyForm.base_fields.update(setting_fields())


class ActivateForm(forms.Form):
    """Putting a draft or an earlier revision in force, as it was compared with revision `based_on`."""

    to = forms.CharField(widget=forms.HiddenInput, max_length=20)
    based_on = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=2**31 - 1)
    version = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=1, max_value=2**31 - 1)
    reason = ReasonField()


class DeleteDraftForm(forms.Form):
    """Throwing a draft away, as it was read."""

    version = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=2**31 - 1)
    reason = ReasonField()


class AmountsField(forms.JSONField):
    """Limits of resources that go unseen with a level's row; the matrix of quotas is where they are changed."""

    def __init__(self) -> None:
        super().__init__(required=False, widget=forms.HiddenInput)

    def prepare_value(self, value: Any) -> Any:
        """Nothing stands for none: a new row is blank."""
        return super().prepare_value(value) if value else ""


class LevelForm(KeywordForm):
    """One level; its row's place is its rank."""

    name = forms.CharField(label=_("Name"), max_length=40)
    min_score = NumberField(label=_("From score"), required=False)
    quota = WholeField(label=_("Quota"), required=False)
    amounts = AmountsField()
    totals = AmountsField()


class MomentField(WithinTime):
    """A moment, or none, in the time zone of this installation, as the browser's own field has it."""

    def __init__(self, **kwargs: Any) -> None:
        attributes = {"type": "datetime-local", "step": "1"}
        super().__init__(
            required=False,
            widget=forms.DateTimeInput(attributes, format=MOMENT),
            input_formats=[MOMENT, "%Y-%m-%dT%H:%M"],
            **kwargs,
        )


class UserOverrideForm(forms.Form):
    """A user's level by hand."""

    user = forms.CharField(label=_("User"), max_length=200)
    level = forms.CharField(label=_("Level"), max_length=40)
    until = MomentField(label=_("Until"))


class TaskOverrideForm(forms.Form):
    """The level of job names, by hand."""

    pattern = forms.CharField(label=_("Job names"), max_length=200)
    level = forms.CharField(label=_("Level"), max_length=40)
    until = MomentField(label=_("Until"))


ROW_FORMS: dict[str, type[forms.Form]] = {
    LEVELS: LevelForm,
    USERS: UserOverrideForm,
    TASKS: TaskOverrideForm,
    TYPES: TaskTypeForm,
}


def policy_initial(policy: PartitionPolicy) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """A policy as the form and its rows show it."""
    values: dict[str, Any] = {key: getattr(policy, key) for key in SETTINGS}
    values |= balance_initial(policy.balance)
    values["bands"] = "\n".join(
        ", ".join(UNCONFIGURED if rank is None else policy.level_name(rank) for rank in band)
        for band in policy.bands or ()
    )
    rows: dict[str, list[dict[str, Any]]] = {
        LEVELS: [
            {
                "name": rule.name,
                "min_score": rule.min_score,
                **keyword_initial(rule),
                "quota": policy.quotas.get(rule.name),
                **{
                    column: dict(getattr(policy, key).get(rule.name, {}))
                    for key, column in FURTHER_QUOTAS.items()
                },
            }
            for rule in policy.levels
        ],
        USERS: [
            {"user": user, "level": level, "until": _moment(policy.user_overrides_until.get(user))}
            for user, level in policy.user_overrides.items()
        ],
        TASKS: [
            {"pattern": pattern, "level": level, "until": _moment(policy.task_overrides_until.get(pattern))}
            for pattern, level in policy.task_overrides.items()
        ],
        TYPES: [task_type_initial(row) for row in policy.task_types],
    }
    return values, rows


def _moment(seconds: int | None) -> datetime | None:
    return None if seconds is None else clock.from_epoch(seconds)


@dataclass(frozen=True, slots=True)
class QuotaColumn:
    """One limit that each level may have."""

    kind: QuotaKind
    resource: str

    @property
    def head(self) -> str:
        """What it counts."""
        return resource_word(self.resource)

    def cell(self, rank: int) -> str:
        """The name of a level's field."""
        return f"{self.kind.value}-{rank}-{self.resource}"

    def label(self, level: str) -> str:
        """The cell in words, for those who do not see its row and column."""
        facts = {"level": level, "what": self.head}
        if self.kind is QuotaKind.TOTALS:
            return set_in_type(gettext("%(level)s: %(what)s of all users together") % facts)
        return set_in_type(gettext("%(level)s: %(what)s of each user") % facts)


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """A level with its cells."""

    rank: int
    level: str
    cells: list[BoundField]


class QuotaForm(forms.Form):
    """The quotas of a policy. `based_on` is the revision, or the draft's version, that the person had read: ranks mean
    its levels."""

    over_quota = forms.ChoiceField(label=_("A job beyond a quota"), choices=choices_of("over_quota"))
    draft_name = forms.CharField(
        label=_("Name of the draft"),
        required=False,
        max_length=80,
        help_text=_("A draft is kept beside the policy in force and changes nothing."),
    )
    based_on = forms.IntegerField(widget=forms.HiddenInput, required=False)
    reason = ReasonField()

    def __init__(self, *args: Any, policy: PartitionPolicy, resources: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._policy = policy
        self.of_each = [
            QuotaColumn(QuotaKind.JOBS, JOBS),
            *(QuotaColumn(QuotaKind.AMOUNTS, name) for name in resources),
        ]
        self.of_all = [QuotaColumn(QuotaKind.TOTALS, name) for name in resources]
        for rank, column, level in self._places():
            self.fields[column.cell(rank)] = WholeField(label=column.label(level), required=False)

    @property
    def rows(self) -> list[QuotaRow]:
        """The levels, the highest first."""
        columns = [*self.of_each, *self.of_all]
        return [
            QuotaRow(rank, rule.name, [self[column.cell(rank)] for column in columns])
            for rank, rule in enumerate(self._policy.levels)
        ]

    def document(self) -> dict[str, Any]:
        """The policy with these quotas, as the priority file has it; after `is_valid`."""
        quotas: dict[str, Any] = {kind.value: {} for kind in QuotaKind}
        for rank, column, level in self._places():
            most = self.cleaned_data[column.cell(rank)]
            if most is None:
                continue
            if column.kind is QuotaKind.JOBS:
                quotas[column.kind.value][level] = most
            else:
                quotas[column.kind.value].setdefault(level, {})[column.resource] = most
        return encode_policy(self._policy) | quotas | {"over_quota": self.cleaned_data["over_quota"]}

    def _places(self) -> Iterator[tuple[int, QuotaColumn, str]]:
        for rank, rule in enumerate(self._policy.levels):
            for column in (*self.of_each, *self.of_all):
                yield rank, column, rule.name


def quota_initial(policy: PartitionPolicy) -> Mapping[str, Any]:
    """A policy's quotas as the form shows them."""
    cells = {
        QuotaColumn(limit.kind, limit.resource).cell(limit.rank): limit.most for limit in limits_of(policy)
    }
    return {"over_quota": policy.over_quota, **cells}


def quota_form(partition: Partition, draft: PolicyDraft | None = None, **kwargs: Any) -> QuotaForm:
    """The matrix over the levels of the policy in force, or of a draft."""
    policy = decoded(draft.document) if draft else policy_of(partition)
    return QuotaForm(policy=policy, resources=resources_of(partition, policy), **kwargs)

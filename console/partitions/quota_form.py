"""The matrix of quotas as a form: a row per level, a column per limit, an empty cell for no limit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from console.core.fields import ReasonField, WholeField
from console.core.l10n_format import set_in_type
from console.partitions.models import Partition, PolicyDraft
from console.partitions.quotas import JOBS, QuotaKind, limits_of, resource_word, resources_of
from console.partitions.selectors import decoded, policy_of
from console.partitions.setting_fields import choices_of
from scheduler.contracts.config import encode_policy
from scheduler.model.policy import PartitionPolicy


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

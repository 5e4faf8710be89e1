"""A partition's entry of the priority file, for the OpenAPI document: the fields are the policy's own."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework import serializers

from console.api.dataclasses import DataclassSerializer
from scheduler.model.policy import SETTINGS, AppliesTo, LevelRule, Otherwise, PartitionPolicy
from scheduler.model.task_types import ShrinkHow

TOLD: Mapping[str, str] = {
    **{key: each.told for key, each in SETTINGS.items() if each.told},
    "balance": "Who gets nodes of equal compute power; null: only who asks, and nobody waits for it.",
    "name": "The partition.",
    "quotas": "Level to running jobs per user.",
    "quota_amounts": "Level to what each user's running jobs may hold together, by resource; memory in MB.",
    "quota_totals": "Level to what all users' running jobs may hold together.",
    "user_overrides": "User to level.",
    "task_overrides": "Pattern of job names to level.",
    "user_overrides_until": "When the override of a user ends; the others do not end by themselves.",
    "task_overrides_until": "The same for patterns of job names.",
    "bands": "Lists of ranks, highest band first; null: every level is its own band.",
    "cancel_if_not_requeueable": (
        "Older: true stands for `not_requeueable: cancel` without a notice. Never sent."
    ),
}


class PatternsSerializerField(serializers.ListField):
    """Shell-style patterns, each once."""

    child = serializers.CharField()


class LevelSerializer(DataclassSerializer):
    """One level; the first in the list is the highest."""

    dataclass = LevelRule
    must = ("name",)
    keyword_users = PatternsSerializerField(
        required=False,
        help_text="Users who may use the keyword, shell style; an empty list: nobody; left out: everybody.",
    )


class TaskTypeSerializer(serializers.Serializer):
    """What a kind of task needs where its request leaves it out. The first row that fits a job's name counts."""

    pattern = serializers.CharField(help_text="Shell style, of job names.")
    cpus = serializers.IntegerField(required=False, help_text="For each node.")
    gpus = serializers.IntegerField(required=False, help_text="For each node.")
    memory_mb = serializers.IntegerField(required=False, help_text="For each node.")
    time_s = serializers.IntegerField(required=False, help_text="The time limit.")
    elastic_min = serializers.IntegerField(
        required=False, help_text="Such a task is elastic and goes on with so many workers."
    )
    elastic_wish = serializers.IntegerField(required=False, help_text="It would like to have so many.")
    elastic_how = serializers.ChoiceField(
        [each.value for each in ShrinkHow], required=False, help_text="In which way it gives them up."
    )
    balanced = serializers.BooleanField(
        required=False, help_text="It gets processors of equal compute power."
    )


class BalanceSerializer(serializers.Serializer):
    """The rule for sets of equal compute power."""

    resource = serializers.CharField(help_text="Which power counts.")
    max_distance = serializers.FloatField(help_text="Between the largest and the smallest power of a set.")
    applies_to = serializers.ChoiceField(
        [each.value for each in AppliesTo],
        required=False,
        help_text="Every job that asks for several processors, or those that ask for an even set.",
    )
    swap_below_s = serializers.IntegerField(
        required=False, help_text="Only jobs that have run for less exchange a node; 0: none."
    )
    most_wait_s = serializers.IntegerField(
        required=False,
        help_text="So long after its submission a job takes the nearest set; 0: it waits as long as it takes.",
    )

    def get_fields(self) -> dict[str, Any]:
        """With `else`, which no attribute can be called."""
        told = "What a job does where no set is even."
        choices = [each.value for each in Otherwise]
        return super().get_fields() | {
            "else": serializers.ChoiceField(choices, required=False, help_text=told)
        }


class PolicyDocumentSerializer(DataclassSerializer):
    """A partition's entry of the priority file (contract B), without `admins`. For the OpenAPI document only:
    values are checked where the priority file's are, by the service."""

    dataclass = PartitionPolicy
    must = ("mode",)
    told: ClassVar = TOLD
    levels = LevelSerializer(many=True, required=False)
    task_types = TaskTypeSerializer(many=True, required=False)
    balance = BalanceSerializer(required=False, allow_null=True, help_text=TOLD["balance"])
    checkpoint_signal = serializers.CharField(required=False, allow_blank=True)
    user_overrides_until = serializers.DictField(
        child=serializers.DateTimeField(), required=False, help_text=TOLD["user_overrides_until"]
    )
    task_overrides_until = serializers.DictField(
        child=serializers.DateTimeField(), required=False, help_text=TOLD["task_overrides_until"]
    )
    cancel_if_not_requeueable = serializers.BooleanField(
        required=False, help_text=TOLD["cancel_if_not_requeueable"]
    )

"""The bar of the policy's page: what the form changes, and what that does now and would have done in the past."""

from typing import Any

from django.http import QueryDict

from console.core.diff import differences
from console.history.changes import HypotheticalChange
from console.history.forms import FormFaultsError, typed_policy
from console.history.past import over_days_at_once, spans_kept
from console.history.studies import takes_too_long
from console.history.what_if import NotNowError, what_if
from console.history.wording import plots_of, sentences
from console.partitions.models import Partition
from console.partitions.selectors import policy_in_force, written_out
from scheduler.contracts.config import encode_policy

NOW, PAST = "now", "past"


def in_bar(partition: Partition, data: QueryDict, what: str) -> dict[str, Any]:
    """What the bar shows of the form: its changes and their effect now, or the effect over the last day."""
    try:
        change = typed_policy(partition, data)
        return _past(partition, change) if what == PAST else _now(partition, change)
    except FormFaultsError as error:
        return {"faults": error.lines}
    except NotNowError as error:
        return {"not_now": str(error)}


def _now(partition: Partition, change: HypotheticalChange) -> dict[str, Any]:
    """Where nothing is changed nothing is decided, and of the past only what can be answered at once is asked."""
    force = written_out(policy_in_force(partition).document)
    changes = differences(force, encode_policy(change.policies[partition.name]))
    if not changes:
        return {"changes": changes}
    found: dict[str, Any] = {"changes": changes, "past_days": _past_days(partition)}
    try:
        answer = what_if(partition.cluster, change)
    except NotNowError as error:
        return found | {"not_now": str(error)}
    told = [(each, sentences(each)) for each in answer.touched]
    return found | {
        "answer": answer,
        "told": told,
        "untouched": [each.partition for each in answer.partitions if each.nothing],
    }


def _past_days(partition: Partition) -> int:
    """The shortest span that is kept, if it takes no study; else 0."""
    days = min(spans_kept(), default=0)
    return 0 if not days or takes_too_long(partition.cluster, days) else days


def _past(partition: Partition, change: HypotheticalChange) -> dict[str, Any]:
    days = _past_days(partition)
    if not days:
        return {}
    past = over_days_at_once(partition.cluster, change, days)
    return {"past": past, "plots": plots_of(past), "days": days}

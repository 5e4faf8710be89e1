"""What the parts of a policy must be to each other. Each check raises `InputError` with the path of the first fault."""

from collections.abc import Mapping

from scheduler.contracts.errors import InputError, join, quoted
from scheduler.contracts.fields import plain, unique
from scheduler.model.policy import LevelRule, PartitionPolicy
from scheduler.model.sentence import say


def check_ends(overrides: Mapping[str, str], until: Mapping[str, int], path: str) -> None:
    """An end belongs to an override."""
    for key in until:
        if key not in overrides:
            raise InputError(join(path, key), f"there is no override of {quoted(key)} that could end")


def check_levels(policy: PartitionPolicy, path: str) -> None:
    """No name and no keyword twice; thresholds fall from the highest level down."""
    rules = policy.levels
    unique((rule.name for rule in rules), (f"{path}[{i}].name" for i in range(len(rules))), "level")
    keywords = [(f"{path}[{i}].keyword", rule.keyword) for i, rule in enumerate(rules) if rule.keyword]
    unique((word for _, word in keywords), (where for where, _ in keywords), "keyword")
    above: LevelRule | None = None
    for i, rule in enumerate(rules):
        if rule.min_score is None:
            continue
        if above is not None and above.min_score is not None and rule.min_score >= above.min_score:
            message = (
                f"must be below {plain(above.min_score)}, the threshold of {quoted(above.name)} above it"
            )
            raise InputError(f"{path}[{i}].min_score", message)
        above = rule


def check_references(policy: PartitionPolicy, mapped: Mapping[str, object], path: str) -> None:
    """Quotas name levels by their keys, overrides by their values."""
    for key, value in mapped.items():
        title = value if isinstance(value, str) else key
        if policy.level_index(title) is None:
            known = ", ".join(quoted(rule.name) for rule in policy.levels) or "none yet"
            raise InputError(
                join(path, key), f"{quoted(title)} is no level of the partition; known are {known}"
            )


def check_bands(policy: PartitionPolicy, path: str) -> None:
    """Bands name levels that there are."""
    for i, band in enumerate(policy.bands or ()):
        for j, rank in enumerate(band):
            if rank is not None and rank >= len(policy.levels):
                message = say("input.rank", n=rank, m=len(policy.levels))
                raise InputError(f"{path}[{i}][{j}]", message)

"""Keywords with which anybody may make somebody else's job give way."""

from scheduler.model.policy import Enforcement, LevelRule, Mode, PartitionPolicy


def open_keywords(policy: PartitionPolicy) -> list[LevelRule]:
    """The levels whose keyword everybody may use and whose jobs stop others, the highest first.

    A job of a level stops others where the partition enforces, its task level counts, and a lower band exists: that of
    the unconfigured, unless the level's own band holds them too.
    """
    if policy.enforcement is not Enforcement.ENFORCE or policy.mode is Mode.USER:
        return []
    harmless = _last_band(policy)
    return [
        rule
        for rank, rule in enumerate(policy.levels)
        if rule.keyword and rule.keyword_users is None and rank not in harmless
    ]


def _last_band(policy: PartitionPolicy) -> tuple[int | None, ...]:
    """The ranks that no other gives way to: without bands, none but the unconfigured."""
    return next((band for band in policy.bands or () if None in band), ())

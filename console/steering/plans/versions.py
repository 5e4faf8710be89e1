"""What a request for approval has asked for, version by version."""

from collections.abc import Sequence

from console.steering.models import Plan, PlanVersion


def keep_version(plan: Plan, ended: Sequence[str] = ()) -> None:
    """Keep what the plan asks for now. `ended`: jobs of the version before whose runs are over."""
    PlanVersion.objects.get_or_create(
        plan=plan,
        number=plan.version,
        defaults={
            "at": plan.worked_out_at,
            "victims": plan.victims,
            "ended": list(ended),
            "placement": plan.placement,
            "explain": plan.explain,
            "policy_revision": plan.policy_revision,
        },
    )

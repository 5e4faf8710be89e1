"""Which of the running tasks of one group go first: those that lose least (spec 2.5).

What a task loses is the time since the last checkpoint that its present run has acknowledged, or all that it has run
where there is none. Where the group stands among other victims does not depend on that: its tasks keep their times of
running and of submission, and their places in the order of ids, among them; the one that loses least counts as the
youngest and the last submitted. So nobody is stopped instead of another user's job because he saves his state often.
"""

from collections.abc import Iterable, Sequence

from scheduler.model.resources import total
from scheduler.preemption.node_state import RunningJob


def order_by_loss(runners: list[RunningJob], now: int) -> None:
    """Deal out those anew within each group; see `RunningJob.own_ran`. `runners` stand, and stay, in their `order`."""
    groups: dict[tuple[str, int, int], list[RunningJob]] = {}
    for runner in runners:
        if runner.job.group and runner.may_go:
            groups.setdefault((runner.job.group, runner.first, runner.second), []).append(runner)
    for together in groups.values():
        first = together[0].job
        if any(each.job.saved_at is not None or each.job.submit != first.submit for each in together):
            for alike in _alike(together):
                _deal_out(alike, now)
                for runner in alike:
                    runners[runner.order] = runner


def _alike(together: Sequence[RunningJob]) -> Iterable[list[RunningJob]]:
    """Those that hold the same, wherever."""
    found: dict[tuple[tuple[str, int], ...], list[RunningJob]] = {}
    for runner in together:
        held = tuple(sorted(total(runner.alloc.values()).items()))
        found.setdefault(held, []).append(runner)
    return found.values()


def _deal_out(alike: list[RunningJob], now: int) -> None:
    ran, orders = sorted(each.ran for each in alike), sorted(each.order for each in alike)
    submitted = sorted((each.job.submit for each in alike), reverse=True)
    by_loss = sorted(alike, key=lambda each: (_loses(each, now), each.ran, each.order))
    for runner, seconds, order, moment in zip(by_loss, ran, orders, submitted, strict=True):
        runner.own_ran, runner.ran, runner.order, runner.submitted = runner.ran, seconds, order, moment


def _loses(runner: RunningJob, now: int) -> int:
    """The seconds of work that are lost when it is stopped now."""
    saved = runner.job.saved_at
    return runner.ran if saved is None else max(0, now - max(saved, runner.job.start or 0))

"""A plan's steps: when each was done, counted from the first, and no number that only Slurm understands."""

from datetime import timedelta

from console.steering.models import Plan, PlannedAction
from scheduler.model.line import LAST_OF_FRONT
from tests import factories
from tests.markup import flat, words_of
from tests.ui.conftest import House, SignedIn

NOW = factories.NOW


def steps_of(house: House, signed_in: SignedIn) -> str:
    page = flat(signed_in("vera").get(f"/plans/{house.plan.pk}/"))
    return words_of(page[page.index("counted from") :])


def test_steps_are_counted_from_the_first(house: House, signed_in: SignedIn) -> None:
    seen = NOW + timedelta(seconds=1.8)
    PlannedAction.objects.filter(kind="signal").update(issued_at=NOW, verified_at=seen, outcome="done")
    later = NOW + timedelta(seconds=125)
    PlannedAction.objects.exclude(kind="signal").update(issued_at=None, not_before=later)
    Plan.objects.update(started_at=NOW + timedelta(seconds=2.6))
    steps = steps_of(house, signed_in)
    assert "+0.0 s Send checkpoint signal USR1 88 bob Done +1.8 s " in steps
    assert "not before +2 min 5 s" in steps
    assert "+2.6 s 101 runs" in steps
    assert " ago" not in steps.partition("Whom it is for")[0]
    assert "done" not in steps.partition("Whom it is for")[0], "the state says it already"


def test_a_place_in_line_is_said_in_words(house: House, signed_in: SignedIn) -> None:
    """4294967287 was on the page, a priority of Slurm's."""
    factories.make_action(house.plan, "prioritise", order=1, value=f"{LAST_OF_FRONT + 9}", job_id="101")
    factories.make_action(house.plan, "release", order=30, value="~1000", job_id="99")
    steps = steps_of(house, signed_in)
    assert "front of the queue" in steps and "its own place in the queue" in steps
    assert f"{LAST_OF_FRONT + 9}" not in steps and "1000" not in steps
    page = words_of(signed_in("vera").get("/partitions/x/").content.decode())
    assert f"{LAST_OF_FRONT + 9}" not in page

"""The plan's page tells of each victim when it was asked, what it saved and where it went on."""

from datetime import timedelta

from django.utils import timezone

from console.steering.models import Checkpoint
from tests.ui.conftest import House, SignedIn


def make_checkpoint(house: House, **fields: object) -> Checkpoint:
    values = {"job_id": "88", "run_start": 1, "run_restarts": 0, "user": "bob", "asked_at": timezone.now()}
    return Checkpoint.objects.create(plan=house.plan, cluster=house.cluster, **{**values, **fields})


def page(house: House, signed_in: SignedIn) -> str:
    return signed_in("vera").get(f"/plans/{house.plan.pk}/").content.decode()


def test_a_plan_that_asked_nobody_has_no_such_part(house: House, signed_in: SignedIn) -> None:
    assert "Checkpoints" not in page(house, signed_in)


def test_what_was_asked_and_not_yet_answered(house: House, signed_in: SignedIn) -> None:
    make_checkpoint(house)
    shown = page(house, signed_in)
    assert "Checkpoints" in shown
    assert "has not told anything" in shown


def test_what_was_saved_how_it_was_told_and_where_it_went_on(house: House, signed_in: SignedIn) -> None:
    now = timezone.now()
    make_checkpoint(
        house,
        acknowledged_at=now - timedelta(seconds=9),
        via="comment",
        saved="epoch=10<script>alert(1)</script>",
        resumed_at=now,
        resumed_restarts=2,
    )
    shown = page(house, signed_in)
    assert "epoch=10&lt;script&gt;" in shown and "<script>alert" not in shown
    assert "Its comment" in shown
    assert "after 2 restarts" in shown

"""What a job's page shows of its task type."""

from django.test import Client

from console.partitions.models import PolicyRevision
from tests import factories
from tests.markup import words_of
from tests.ui.conftest import House

TRAIN = {"pattern": "train_*", "gpus": 2, "time_s": 14400, "elastic_min": 2, "elastic_wish": 4}


def test_a_jobs_page_says_what_comes_from_its_type(house: House, ada: Client) -> None:
    document = factories.policy_document("x", task_types=[TRAIN])
    house.x.revision = PolicyRevision.objects.create(
        partition=house.x, number=2, document=document, enforcement="shadow", author="ada"
    )
    house.x.save()
    factories.make_job(house.cluster, "70", name="train_a", phase="pending", partition="x")
    factories.make_job(
        house.cluster, "71", name="train_b", phase="pending", partition="x", comment="elastic:min=3"
    )
    page = words_of(ada.get("/jobs/70/").content.decode())
    assert "from task type train_*: 2 gpu, 4 h" in page
    assert "2 to 4 workers (from its task type)" in page
    assert "at least 3 workers (from its comment)" in words_of(ada.get("/jobs/71/").content.decode())

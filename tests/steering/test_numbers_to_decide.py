"""How much there is to decide, as the navigation says it."""

import pytest

from console.accounts.models import User
from console.steering.selectors import numbers_to_decide
from tests import factories


@pytest.mark.django_db
def test_who_loses_a_partition_is_asked_about_nothing_there_any_more() -> None:
    partition = factories.make_partition(factories.make_cluster(), "x")
    cycle = factories.make_cycle(partition.cluster, 1)
    factories.make_plan(cycle, "7", state="proposed", enforcement="approve", policy_revision=1)

    dave = factories.make_user("dave")

    def asked() -> int:
        return numbers_to_decide(User.objects.get(pk=dave.pk), "dev")["plans"]

    assert asked() == 0
    admin = factories.make_partition_admin(partition)
    assert asked() == 1
    admin.delete()
    assert asked() == 0

"""While the cluster cannot be observed nobody is stopped, and every page that shows the cluster says so."""

import pytest
from django.test import Client
from django.urls import reverse

from console.steering.models import PlannedAction
from tests import factories
from tests.steering.conftest import Sim

WORDS = "The cluster could not be read in full; nothing is decided until it can."


@pytest.mark.parametrize("partial", [True, False], ids=["half a table", "no answer"])
def test_every_page_of_the_cluster_says_that_it_is_not_seen(sim: Sim, client: Client, partial: bool) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.cycle()
    client.force_login(factories.make_administrator(), backend="console.accounts.backends.PasswordBackend")
    urgent = sim.submit("cy", 6)
    pages = [
        *(reverse(name) for name in ("overview", "jobs", "plans", "approvals")),
        reverse("partition", args=["x"]),
        reverse("job", args=[low]),
    ]
    assert not any(WORDS in client.get(page).content.decode() for page in pages)
    if partial:
        sim.port.faults.answer_partially("half a table", jobs=[urgent])
    else:
        sim.port.faults.break_down("half a table")

    sim.cycles(3)

    assert not PlannedAction.objects.exists()
    for page in pages:
        shown = client.get(page).content.decode()
        assert WORDS in shown, page
        assert "half a table" in shown, page
    sim.port.faults.mend()
    sim.cycle()
    assert not any(WORDS in client.get(page).content.decode() for page in pages)

"""The page of a processor that stands out, and what people do there."""

import pytest

from console.audit.models import AuditEntry
from console.cluster.models import Node
from console.power.models import NodeDrain, PowerIncident
from console.power.selectors import nodes_of
from tests import factories
from tests.markup import words_of
from tests.ui.conftest import House, SignedIn, house, house_of_the_module, signed_in

__all__ = ["house", "house_of_the_module", "signed_in"]


@pytest.fixture
def incident(house: House) -> PowerIncident:
    """On the first node of x."""
    return factories.make_power_incident(house.cluster, nodes_of(house.x)[0].name)


def at(incident: PowerIncident, part: str = "") -> str:
    return f"/partitions/x/power/incidents/{incident.pk}/{part}"


def test_it_is_told_where_people_look(house: House, incident: PowerIncident, signed_in: SignedIn) -> None:
    dave = signed_in("dave")
    words = str(incident.words)
    assert "is 18 % slower than the middle of its 31 siblings" in words
    for page in ("/", "/partitions/x/power/", f"/nodes/{incident.node}/", at(incident)):
        assert words in words_of(dave.get(page).content.decode()), page
    assert at(incident) in dave.get("/").content.decode()
    assert words not in words_of(signed_in("vera").get("/").content.decode())


def test_its_node_is_drained_and_put_back_with_a_reason(
    house: House, incident: PowerIncident, signed_in: SignedIn
) -> None:
    dave = signed_in("dave")
    assert dave.post(at(incident, "drain/"), {"reason": ""}).status_code == 422
    assert dave.post(at(incident, "drain/"), {"reason": "Slow"}).status_code == 302
    assert dave.post(at(incident, "drain/"), {"reason": "Slow"}).status_code == 302
    assert NodeDrain.objects.get().by == "dave"
    assert "to be drained" in words_of(dave.get(f"/nodes/{incident.node}/").content.decode())
    assert dave.post(at(incident, "put-back/"), {"reason": "Mended"}).status_code == 302
    assert NodeDrain.objects.get().state == "returning"
    rows = AuditEntry.objects.filter(action__in=["power.drain_asked", "power.return_asked"])
    assert set(rows.values_list("reason", flat=True)) == {"Slow", "Mended"}


def test_what_giveway_has_not_drained_is_not_put_back(
    house: House, incident: PowerIncident, signed_in: SignedIn
) -> None:
    answer = signed_in("dave").post(at(incident, "put-back/"), {"reason": "Why not"})
    assert answer.status_code == 422
    assert "Giveway has not drained this node" in words_of(answer.content.decode())


def test_it_is_left_as_it_is(house: House, incident: PowerIncident, signed_in: SignedIn) -> None:
    dave = signed_in("dave")
    assert dave.post(at(incident, "leave/"), {"reason": "Known"}).status_code == 302
    incident.refresh_from_db()
    assert (incident.state, incident.left_reason) == ("left", "Known")
    assert "dave: Known" in words_of(dave.get(at(incident)).content.decode())
    assert str(incident.words) not in words_of(dave.get("/").content.decode()), "it needs nobody"


@pytest.mark.parametrize("part", ["drain/", "put-back/", "leave/"])
@pytest.mark.parametrize("role", ["vera", "otto"])
def test_others_only_read(
    part: str, role: str, house: House, incident: PowerIncident, signed_in: SignedIn
) -> None:
    browser = signed_in(role)
    page = browser.get(at(incident))
    assert (page.status_code, "Drain the node" in page.content.decode()) == (200, False)
    assert browser.post(at(incident, part), {"reason": "Try"}).status_code == 403
    assert not NodeDrain.objects.exists()


def test_a_node_that_others_look_after_too_is_not_drained_by_one_of_them(
    house: House, incident: PowerIncident, signed_in: SignedIn
) -> None:
    Node.objects.filter(name=incident.node).update(partitions=["x", "y"])
    answer = signed_in("dave").post(at(incident, "drain/"), {"reason": "Slow"})
    assert answer.status_code == 422
    assert "in partitions that others look after" in words_of(answer.content.decode())
    assert signed_in("ada").post(at(incident, "drain/"), {"reason": "Slow"}).status_code == 302


def test_an_incident_of_another_partition_is_not_there(
    house: House, incident: PowerIncident, signed_in: SignedIn
) -> None:
    Node.objects.filter(name=incident.node).update(partitions=["x"])
    assert signed_in("ada").get(f"/partitions/y/power/incidents/{incident.pk}/").status_code == 404

"""The switch over the API."""

from collections.abc import Callable

from rest_framework.test import APIClient

from console.audit.models import AuditEntry
from console.steering.models import Pause
from tests.api.conftest import House

ALL = "/api/v1/pause/"
X, Y = "/api/v1/partitions/x/pause/", "/api/v1/partitions/y/pause/"


def test_pausing_and_resuming_a_partition(house: House, as_person: Callable[[str], APIClient]) -> None:
    dave = as_person("dave")
    assert dave.get(X).json() == {"paused": False, "pauses": []}

    paused = dave.put(X, {"reason": "Maintenance"}).json()

    assert paused["paused"] is True
    assert [(each["partition"], each["by"], each["reason"]) for each in paused["pauses"]] == [
        ("x", "dave", "Maintenance")
    ]
    assert dave.get(X).json() == paused
    assert dave.get(Y).json()["paused"] is False
    assert dave.get(ALL).json() == {"paused": False, "pauses": [], "partitions": paused["pauses"]}
    assert dave.delete(X).status_code == 204
    assert dave.get(X).json()["paused"] is False


def test_a_partition_is_paused_with_everything_and_says_so(house: House, ada: APIClient) -> None:
    assert ada.put(ALL).json()["paused"] is True
    ada.put(Y, {"reason": "A node is being moved"})

    assert [each["partition"] for each in ada.get(X).json()["pauses"]] == [""]
    assert [each["partition"] for each in ada.get(Y).json()["pauses"]] == ["", "y"]
    ada.delete(ALL)
    assert ada.get(X).json()["paused"] is False
    assert ada.get(Y).json()["paused"] is True


def test_the_same_again_changes_nothing(
    house: House, ada: APIClient, as_person: Callable[..., APIClient]
) -> None:
    first = ada.put(X, {"reason": "First"})
    again = as_person("dave").put(X, {"reason": "Second"})

    assert again.json() == first.json()
    assert ada.delete(X).status_code == ada.delete(X).status_code == 204
    told = AuditEntry.objects.filter(action__startswith="pause.").order_by("sequence")
    assert [(each.action, each.actor, each.request_id) for each in told[:1]] == [
        ("pause.set", "ada", first["X-Request-ID"])
    ]
    assert [each.action for each in told] == ["pause.set", "pause.lifted"]


def test_a_reason_that_is_too_long_is_refused(house: House, ada: APIClient) -> None:
    refused = ada.put(X, {"reason": "x" * 1001})
    assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, {"reason"})
    assert not Pause.objects.exists()


def test_a_partition_that_is_not_there(house: House, ada: APIClient) -> None:
    path = "/api/v1/partitions/nowhere/pause/"
    assert [getattr(ada, method)(path).status_code for method in ("get", "put", "delete")] == [404] * 3

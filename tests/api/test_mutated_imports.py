"""Priority files that somebody has broken in any way: each is imported or refused, and nothing is half saved."""

import json
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.api.conftest import House

SEED = 20261122
COUNT = 400
STRANGE: list[Any] = [
    None, True, -1, 0, 1e308, 10**30, "", " ", "\u202e", "x" * 300, "*" * 50, "[", [], {}, [[]], {"a": 1}, ["a", "a"],
    "2026-13-40", "P9", [None], {"": ""}, 0.1, "\u0000", "\ud800",
]  # fmt: skip


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container inside with each of its keys or indexes."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    found = [(value, key) for key in keys]
    for key in keys:
        found += places(value[key])
    return found


def mutated(document: Any, chance: Random) -> Any:
    """The document with one to four things done to it."""
    result = deepcopy(document)
    for _ in range(chance.randint(1, 4)):
        container, key = chance.choice(places(result))
        match chance.randrange(5):
            case 0:
                del container[key]
            case 1 if isinstance(container, dict):
                container[f"{key}x"] = container.pop(key)
            case 2 if isinstance(container, list):
                container.append(deepcopy(container[key]))
            case 3 if isinstance(container[key], float | int):
                container[key] = container[key] * chance.choice([-1, 0, 2, 1.5, 1e9])
            case _:
                container[key] = deepcopy(chance.choice(STRANGE))
        if not places(result):
            break
    return result


@pytest.mark.timeout(900)
def test_hundreds_of_mutated_files_are_imported_whole_or_refused(house: House, ada: APIClient) -> None:
    chance = Random(SEED)
    now = ada.get("/api/v1/config/").json()
    taken = refused = 0
    for _ in range(COUNT):
        body = json.dumps({"config": mutated(now, chance), "reason": "Fuzz."})
        answer = ada.generic("POST", "/api/v1/config/", body, content_type="application/json")
        assert answer.status_code in {200, 400}, (body, answer.content)
        if answer.status_code == 200:
            taken += 1
            now = ada.get("/api/v1/config/").json()
            again = {"config": now, "reason": "Again."}
            assert ada.post("/api/v1/config/", again).json()["differences"] == []
        else:
            refused += 1
            assert answer.json()["error"]["message"]
            if refused % 20 == 0:
                assert ada.get("/api/v1/config/").json() == now
    assert ada.get("/api/v1/config/").json() == now
    assert min(taken, refused) > COUNT / 20

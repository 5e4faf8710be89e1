"""A plan's input on its page: the policy's values are for whom the policy's page is for."""

import json
import zlib

from tests.ui.conftest import House, SignedIn


def test_only_who_sees_the_policy_gets_its_values(house: House, signed_in: SignedIn) -> None:
    stored = house.plan.stored_snapshot
    assert stored is not None
    document = {**stored.document, "partition": {"name": "x", "mode": "user", "exempt_s": 4711}}
    stored.body = zlib.compress(json.dumps(document).encode())
    stored.save()
    address = f"/plans/{house.plan.pk}/snapshot.json"
    for name in ("ada", "otto", "dave"):
        assert signed_in(name).get(address).json() == document
    for name in ("vera", "pam"):
        told = signed_in(name).get(address).json()
        assert told == {
            **document,
            "partition": {"name": "x", "mode": "user"},
            "hidden": ["partition.exempt_s"],
        }

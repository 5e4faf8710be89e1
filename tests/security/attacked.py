"""What the tests of this folder share: every address there is, with the house's own objects in it."""

from collections.abc import Iterator
from typing import Any

from django.urls import reverse

from console.audit.models import AuditEntry
from tests.api.test_access import TABLE
from tests.ui.conftest import House
from tests.ui.test_access import CASES, Case

WRITES = ("post", "put", "patch", "delete")
OPENED = 200


def address_of(case: Case, house: House) -> str:
    """A page's address."""
    args = [arg.format(plan=house.plan.pk) for arg in case.args]
    return reverse(case.page, args=args) + (f"?{case.query}" if case.query else "")


def api_address(row: Any, house: House) -> str:
    """An address of the API; rows of the log stand for any."""
    name, arguments, method, _ = row
    found = dict(arguments)
    if found.get("pk") == "plan":
        found["pk"] = house.plan.pk
    if "sequence" in found:
        found["sequence"] = AuditEntry.objects.order_by("sequence").values_list("sequence", flat=True)[0]
    query = "?version=1&reason=test" if (name, method) == ("api-projects-detail", "delete") else ""
    return reverse(name, kwargs=found) + query


def pages(house: House) -> Iterator[str]:
    """Every page that the administrator can open."""
    for case in CASES:
        if case.method == "get" and case.statuses[-1] == OPENED:
            yield address_of(case, house)


def resources(house: House) -> Iterator[str]:
    """Every address of the API that the administrator can read."""
    for row in TABLE:
        if row[2] == "get" and row[3][-1] == OPENED:
            yield api_address(row, house)

"""Every time of day on a page names its zone."""

import re

import pytest
from django.test import Client
from pytest_django import Settings

from tests.ui.conftest import House
from tests.ui.test_chinese_pages import PAGES, Texts

TIME = re.compile(r"\b\d\d:\d\d(?::\d\d)?\b(?!:)(?P<zone> UTC| CST)?")
MORE = ("/partitions/x/compare/", "/partitions/x/timeline/?span=7d", "/partitions/x/quotas/?level=P0&span=6h")


def without_zone(page: str) -> list[str]:
    texts = Texts()
    texts.feed(page)
    return [text for text in texts.found for found in TIME.finditer(text) if not found["zone"]]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai"])
def test_every_time_on_a_page_names_its_zone(
    zone: str, house: House, ada: Client, settings: Settings
) -> None:
    settings.TIME_ZONE = zone
    left, seen = {}, 0
    for address in (*PAGES, *MORE):
        page = ada.get(address.format(plan=house.plan.pk), follow=True).content.decode()
        seen += len(TIME.findall(page))
        left[address] = without_zone(page)
    assert {address: texts for address, texts in left.items() if texts} == {}
    assert seen > 20

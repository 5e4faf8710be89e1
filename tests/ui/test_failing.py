"""A cycle that failed is told on every page, in the reader's language, until one has ended well."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from console.accounts.models import User
from console.steering.approvals import what_changed
from console.steering.failures import Streak, written
from console.steering.models import CycleMeter
from console.steering.pausing import pause
from tests.ui.conftest import House, SignedIn, part
from tests.ui.test_pause import EVERY_PAGE

WHAT = "console/steering/ledger.py, line 88 (act): ValueError: '<b>0:10</b>'"
HEAD = "The last cycle failed: nobody is stopped until one has ended well."


def fails(house: House, *partitions: str, holds: bool = True) -> None:
    streaks = {name: Streak(name, WHAT, timezone.now(), in_a_row=2, holds=holds) for name in partitions}
    CycleMeter.objects.update_or_create(cluster=house.cluster, defaults={"failing": written(streaks)})


@pytest.mark.parametrize("address", EVERY_PAGE)
def test_every_page_says_it(house: House, ada: Client, address: str) -> None:
    assert HEAD not in ada.get(address).content.decode()
    fails(house, "")
    text = ada.get(address).content.decode()
    banners = re.findall(r'<div class="banner banner-bad" role="alert">.*?</div>', text, re.DOTALL)
    assert sum(HEAD in each for each in banners) == 1
    assert "The cycle failed in console/steering/ledger.py, line 88 (act): ValueError" in text
    assert "<b>0:10" not in text
    fails(house, "", holds=False)
    assert HEAD not in ada.get(address).content.decode()


def test_a_partition_that_cannot_be_decided_on_is_named(house: House, ada: Client) -> None:
    fails(house, "x")
    text = ada.get("/help/").content.decode()
    assert "Partition x cannot be decided on: nobody is stopped there until it can." in text
    assert "x could not be decided on; the cycle failed in console/" in text


def test_a_live_page_hears_of_it_by_itself(house: House, ada: Client) -> None:
    fails(house, "")
    text = ada.get("/", headers=part("partition-cards")).content.decode()
    assert text.index('id="pauses"') < text.index(HEAD)


def test_in_chinese(house: House, ada: Client) -> None:
    User.objects.filter(username="ada").update(language="zh-hans")
    fails(house, "", "x")
    why = "three cycles in a row failed, the last in console/steering/cycle.py, line 9 (_run): KeyError: 'x'"
    pause(actor="giveway", cluster=house.cluster, partition=house.x, reason=why)
    text = ada.get("/help/").content.decode()
    assert "上一个周期失败：在有周期正常结束之前不停止任何作业。" in text
    assert "无法对分区 x 做决策" in text
    assert "连续三个周期失败，最近一次失败于 console/steering/cycle.py, line 9 (_run): KeyError" in text


def test_the_pause_that_it_led_to_is_giveways_and_a_person_resumes_it(
    house: House, signed_in: SignedIn
) -> None:
    pause(actor="giveway", cluster=house.cluster, partition=house.x, reason="three cycles in a row failed, …")
    dave = signed_in("dave")
    text = dave.get("/").content.decode()
    assert "Partition x is paused" in text and "Giveway paused it" in text
    text = dave.post("/partitions/x/resume/", follow=True).content.decode()
    assert "The pause is lifted" in text and "is paused</strong>" not in text


def test_nobody_who_is_not_signed_in_learns_of_it(house: House, signed_in: SignedIn) -> None:
    fails(house, "")
    assert "acting.py" not in signed_in("anonymous").get("/sign-in/").content.decode()


def test_no_plan_is_approved_meanwhile(house: House) -> None:
    house.plan.state, house.plan.enforcement = "proposed", "approve"
    house.plan.save()
    assert HEAD not in what_changed(house.plan)
    fails(house, "y")
    assert HEAD not in what_changed(house.plan)
    fails(house, "x")
    assert HEAD in what_changed(house.plan)

"""A partition's page that a browser opens: its top is sent before the rest is made, and it is the same page."""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, cast

import pytest
import time_machine
from django.http import StreamingHttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from console.overview.views import partition as view
from console.reports import lanes as lane_reading
from tests import factories
from tests.ui.conftest import House, SignedIn

OPENED = {"Sec-Fetch-Dest": "document"}
DIFFERS = re.compile(
    r'name="csrfmiddlewaretoken" value="\w+"|"X-CSRFToken": "\w+"|data-now="[^"]*"|data-clock="[^"]*"'
)
"""A token is masked anew in each page, and clocks go on."""
ADDRESS = "/partitions/x/"


def opened(client: Client, **more: str) -> StreamingHttpResponse:
    """As a browser opens it."""
    answer = client.get(ADDRESS, headers=OPENED | more)
    assert answer.streaming
    return cast(StreamingHttpResponse, answer)


def parts(answer: StreamingHttpResponse) -> Iterator[bytes]:
    return iter(cast("Iterator[bytes]", answer.streaming_content))


def whole(answer: StreamingHttpResponse) -> str:
    return DIFFERS.sub("", b"".join(parts(answer)).decode())


def test_it_is_the_page_that_others_get_whole(house: House, signed_in: SignedIn) -> None:
    assert reverse("partition", args=["x"]) == ADDRESS
    for name in ("ada", "vera"):
        client = signed_in(name)
        with time_machine.travel(timezone.now(), tick=False):
            at_once, came = client.get(ADDRESS), opened(client)
            assert not at_once.streaming, "who does not say that it is a page reads no parts"
            assert whole(came) == DIFFERS.sub("", at_once.content.decode())
        for header in ("Content-Security-Policy", "Cache-Control", "Content-Type", "X-Frame-Options"):
            assert came.headers[header] == at_once.headers[header]


def test_the_top_is_sent_before_the_rest_is_read(
    house: House, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    real = view._rest

    def rest(*given: Any) -> dict[str, Any]:
        made.append("rest")
        return real(*given)

    monkeypatch.setattr(view, "_rest", rest)
    pieces = parts(opened(signed_in("ada")))
    top = next(pieces).decode()
    assert made == []
    assert "lanes/chart.js" in top
    assert 'rel="preload"' in top
    assert top.rstrip().endswith('data-part hx-sync="this:replace">')
    below = b"".join(pieces).decode()
    assert made == ["rest"]
    assert 'name="since"' in below
    assert below.rstrip().endswith("</html>")


BROUGHT = re.compile(r'<script id="lanes-first" type="application/json">(.*?)</script>', re.DOTALL)


@pytest.fixture
def many(house: House) -> House:
    """A partition of so many nodes that the chart does not begin with all of them."""
    for i in range(80):
        factories.make_node(house.cluster, f"z{i:02d}")
    for name in ("z01", "z79"):
        factories.make_running_job(house.cluster, f"9{name[1:]}", alloc={name: {}}, on_node=name)
    return house


def test_of_many_nodes_the_page_brings_the_first_lanes_along(many: House, signed_in: SignedIn) -> None:
    client = signed_in("ada")
    with time_machine.travel(timezone.now(), tick=False):
        asked = re.search(r'data-lanes-first href="([^"]+)"', client.get(ADDRESS).content.decode())
        assert asked
        told = client.get(asked[1].replace("&amp;", "&")).json()
        top, lanes, *_rest = (piece.decode() for piece in parts(opened(client)))
    assert 'rel="preload" as="fetch"' not in top, "nobody need ask"
    assert "lanes/chart.js" in top and "data-brought" in top, "the chart is there and waits for them"
    [brought] = BROUGHT.findall(lanes)
    assert json.loads(brought) == told
    assert 0 < told["of_lanes"] < len(told["lanes"]) == 82
    assert {"101"} < {bar["job"] for bar in told["bars"]} and "179" not in {
        bar["job"] for bar in told["bars"]
    }
    assert lanes.index("lanes-first") < lanes.index("lanes/begin.js") < lanes.index('id="partition-now"')


def test_beside_them_it_is_the_page_that_others_get_whole(many: House, signed_in: SignedIn) -> None:
    client = signed_in("ada")
    with time_machine.travel(timezone.now(), tick=False):
        page, at_once = whole(opened(client)), DIFFERS.sub("", client.get(ADDRESS).content.decode())
    brought = re.compile(
        r'\s*<script id="lanes-first".*?</script>|\s*<script src="[^"]*begin.js"></script>'
        r'|\s*<link rel="preload"[^>]*>| data-brought',
        re.DOTALL,
    )
    assert brought.sub("", page).split() == brought.sub("", at_once).split()
    assert "lanes-first" not in at_once.replace("data-lanes-first", "")


def test_nothing_that_people_name_ends_the_script(many: House, signed_in: SignedIn) -> None:
    name = "</script><script>alert(1)</script><!--&\u2028"
    factories.make_running_job(many.cluster, "66", name=name, alloc={"z01": {}}, on_node="z01")
    page = b"".join(parts(opened(signed_in("ada")))).decode()
    assert "<script>alert" not in page
    [brought] = BROUGHT.findall(page)
    assert [bar["name"] for bar in json.loads(brought)["bars"] if bar["job"] == "66"] == [name]


def test_without_lanes_that_cannot_be_read_the_page_is_whole(
    many: House, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(lane_reading, "read_lanes", fail)
    page = b"".join(parts(opened(signed_in("ada")))).decode()
    assert BROUGHT.findall(page) == []
    assert "lanes/begin.js" in page, "which has the chart ask for them"
    assert 'name="since"' in page
    assert page.rstrip().endswith("</html>")


def test_each_part_goes_out_whole_when_it_is_compressed(house: House, signed_in: SignedIn) -> None:
    answer = opened(signed_in("ada"), **{"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in answer.headers["Vary"]
    first, *others = parts(answer)
    assert b"lanes/chart.js" in zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(first)
    assert gzip.decompress(b"".join([first, *others])).rstrip().endswith(b"</html>")


def test_a_part_that_cannot_be_made_says_so_in_its_place(
    house: House, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(view, "_rest", fail)
    page = b"".join(parts(opened(signed_in("ada")))).decode()
    assert "This page could not be made." in page
    assert page.rstrip().endswith("</html>"), "what stands around it is there, and asks for it again"
    assert "data-poll" in page


def test_text_stays_visible_and_in_the_language_of_the_person(house: House, signed_in: SignedIn) -> None:
    factories.make_job(house.cluster, "77", name="a\x1b[31mred", partition="x")
    client = signed_in("ada")
    house.people["ada"].language = "zh-hans"
    house.people["ada"].save(update_fields=["language"])
    with time_machine.travel(timezone.now(), tick=False):
        text = whole(opened(client))
        assert text == DIFFERS.sub("", client.get(ADDRESS).content.decode())
    assert "a\N{SYMBOL FOR ESCAPE}[31mred" in text
    assert 'lang="zh-hans"' in text


def test_who_may_not_see_it_gets_no_part_of_it(house: House, signed_in: SignedIn) -> None:
    assert signed_in("ada").get("/partitions/nowhere/", headers=OPENED).status_code == 404
    assert signed_in("anonymous").get(ADDRESS, headers=OPENED).status_code == 302
    assert (
        not signed_in("ada")
        .get(ADDRESS, headers=OPENED | {"HX-Request": "true", "HX-Target": "partition-now"})
        .streaming
    )

"""The lane chart in a partition's page: what its scripts find there, and what they say, in the reader's language."""

import re
from pathlib import Path

from django.test import Client

from console.core import clock
from tests import factories
from tests.markup import flat
from tests.ui.conftest import House, SignedIn

SCRIPTS = Path(__file__).parents[2] / "static" / "js" / "lanes"


def page_of(client: Client) -> str:
    answer = client.get("/partitions/x/")
    assert answer.status_code == 200
    return answer.content.decode()


def chart_of(page: str) -> str:
    found = re.search(r'<section class="sheet lanes".*?</section>', page, re.DOTALL)
    assert found
    return found[0]


def test_the_chart_knows_its_address_and_its_levels(house: House, ada: Client) -> None:
    page = page_of(ada)
    chart = chart_of(page)
    assert 'data-lanes="/api/v1/partitions/x/lanes/"' in chart and 'data-job="/jobs/JOB/"' in chart
    assert re.findall(r'data-lane-level="(\w+)"', chart) == ["0", "1", "none"], "the last is who has no level"
    assert page.index('id="lanes"') < page.index('id="partition-now"'), "it stays when the rest is swapped"
    for script in SCRIPTS.glob("*.js"):
        assert (f"js/lanes/{script.name}" in page) == (script.name != "begin.js"), (
            "nothing to begin with came along"
        )
    assert "js/lanes/" not in ada.get("/jobs/").content.decode()


def test_the_head_has_the_first_answer_asked_for(house: House, ada: Client) -> None:
    head = page_of(ada).partition("</head>")[0]
    [(address, start, end)] = re.findall(
        r'<link rel="preload" as="fetch" crossorigin data-lanes-first href="([^"?]+)\?from=(\d+)&amp;to=(\d+)">',
        head,
    )
    assert address == "/api/v1/partitions/x/lanes/"
    now = clock.now().timestamp()
    assert int(start) % 300 == int(end) % 300 == 0
    assert 3600 <= now - int(start) < 3900 and 3600 - 1 <= int(end) - now < 3900
    assert head.index("data-lanes-first") < head.index("<script"), "before all scripts"
    assert 'rel="preload"' not in ada.get("/jobs/").content.decode()


def test_of_many_nodes_the_first_answer_has_what_is_seen(house: House, ada: Client) -> None:
    for i in range(64):
        factories.make_node(house.cluster, f"b{i:02d}")
    head = page_of(ada).partition("</head>")[0]
    [(start, end, rows)] = re.findall(r'lanes/\?from=(\d+)&amp;to=(\d+)&amp;rows=(\d+)">', head)
    now = clock.now().timestamp()
    assert int(start) % 300 == int(end) % 300 == 0
    assert 1860 <= now - int(start) < 2160 and 1860 - 1 <= int(end) - now < 2160
    assert int(rows) == 20


def test_the_chart_is_drawn_before_what_is_below_it_is_read(house: House, ada: Client) -> None:
    page = page_of(ada)
    scripts = [
        page.index(f"js/lanes/{path.name}") for path in SCRIPTS.glob("*.js") if path.name != "begin.js"
    ]
    assert page.index('data-say="now"') < min(scripts) and max(scripts) < page.index('id="partition-now"')
    assert not re.search(r"js/lanes/\w+\.js\"[^>]* (defer|async)", page)


def lane_box(client: Client) -> str:
    found = re.search(r'<div class="(lanes-box[^"]*)">', page_of(client))
    assert found
    return found[1]


def test_where_lanes_fill_the_chart_its_place_is_kept(house: House, ada: Client) -> None:
    assert lane_box(ada) == "lanes-box", "two lanes are lower"
    for i in range(12):
        factories.make_node(house.cluster, f"b{i:02d}")
    assert lane_box(ada) == "lanes-box tall"
    for i in range(60):
        factories.make_node(house.cluster, f"c{i:02d}")
    house.cluster.nodes.update(unit="leaf1")
    assert lane_box(ada) == "lanes-box", "many nodes of one unit are one lane"
    house.cluster.nodes.filter(name__startswith="c").update(unit="")
    assert lane_box(ada) == "lanes-box tall", "those in no unit are not"


def test_a_part_of_the_page_has_no_chart(house: House, ada: Client) -> None:
    part = ada.get("/partitions/x/", headers={"HX-Request": "true", "HX-Target": "partition-now"})
    assert 'id="lanes"' not in part.content.decode()


def test_it_can_be_reached_and_read_without_seeing_it(house: House, ada: Client) -> None:
    chart = flat(chart_of(page_of(ada)))
    assert re.search(
        r'<canvas tabindex="0" role="application" aria-describedby="lanes-told" aria-label="\w', chart
    )
    assert re.search(r'<p class="lanes-told" id="lanes-told" aria-live="polite">', chart)
    assert chart.count('<th scope="col">') == 6


def test_whatever_the_scripts_say_is_in_the_page(house: House, ada: Client, signed_in: SignedIn) -> None:
    chart = chart_of(page_of(ada))
    said = set(re.findall(r'data-say="([\w-]+)"', chart))
    source = "".join(path.read_text() for path in SCRIPTS.glob("*.js"))
    asked = set(re.findall(r'say\("([\w-]+)"', source)) | set(
        re.findall(r'"((?:ends|to-be)-[\w-]+)"', source)
    )
    kinds = {"over", "expected", "planned", "kept"}
    assert asked | kinds <= said
    assert said - asked - kinds == {"now", "none", "failed", "gone", "stopped"}, (
        "these are named in other ways"
    )
    vera = signed_in("vera")
    vera.cookies["django_language"] = "zh-hans"
    other = vera.get("/partitions/x/", headers={"Accept-Language": "zh-hans"}).content.decode()
    assert "泳道图" in other and "{job}" in other

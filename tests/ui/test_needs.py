"""What needs whom, first on the overview; and the last day of each partition on its card."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.core.ttl_cache import clear_answers
from console.history.models import PartitionMinute
from console.needs.decisions import TOLD_FOR
from console.needs.rows import SHOWN, NeedKind
from console.projects.models import RequestState, UrgencyRequest
from tests import factories, needed
from tests.markup import flat
from tests.ui.conftest import House, SignedIn, part

NOTHING = "Nothing needs you."


@pytest.fixture(autouse=True)
def _days_are_read_anew() -> Iterator[None]:
    clear_answers()
    yield
    clear_answers()


@pytest.fixture
def calm(house: House) -> House:
    needed.calm(house.cluster)
    return house


def overview(browser: Client) -> str:
    answer = browser.get("/")
    assert answer.status_code == 200
    return answer.content.decode()


def needs(browser: Client) -> str:
    found = re.search(r'<section class="sheet" id="needs".*?</section>', overview(browser), re.DOTALL)
    assert found
    return flat(found[0])


@pytest.mark.parametrize("who", ["vera", "pam", "dave", "otto", "ada"])
def test_nothing_needs_anybody_when_there_is_nothing(calm: House, signed_in: SignedIn, who: str) -> None:
    assert NOTHING in needs(signed_in(who))


@pytest.mark.parametrize("kind", needed.MADE)
def test_each_kind_has_icon_word_and_link_for_who_acts_on_it(
    calm: House, signed_in: SignedIn, kind: str
) -> None:
    needed.MADE[kind](calm.cluster)
    found = needs(signed_in("ada"))
    assert NOTHING not in found
    word = str(NeedKind(kind).label)
    assert re.search(rf'<span class="state state-\w+"><svg class="icon".*?</svg>\s*{word}', found)
    assert re.search(r'<a href="/[^"]+">[^<]+</a>', found)
    assert (NOTHING in needs(signed_in("dave"))) is (kind == "doctor")
    for who in ("vera", "pam", "otto"):
        assert NOTHING in needs(signed_in(who)), who


def test_it_stands_before_everything_else(calm: House, ada: Client) -> None:
    needed.approval(calm.cluster)
    text = overview(ada)
    assert text.index('id="needs"') < text.index('class="facts') < text.index('class="cards"')


def test_a_manager_reads_of_the_own_request_and_the_administrator_decides(
    calm: House, signed_in: SignedIn
) -> None:
    asked = needed.asked(calm.cluster)
    assert f'href="/project-requests/{asked.pk}/withdraw/"' in needs(signed_in("pam"))
    found = needs(signed_in("ada"))
    assert f'href="/project-requests/{asked.pk}/"' in found
    assert "&lt;b&gt;Friday&lt;/b&gt;" in found and "<b>" not in found
    assert NOTHING in needs(signed_in("dave"))


def test_a_proposed_project_needs_who_decides_and_whoever_proposed_it(
    calm: House, signed_in: SignedIn
) -> None:
    made = needed.proposed(calm.cluster)
    at = f'href="/project-proposals/{made.pk}/"'
    found = needs(signed_in("ada"))
    assert at in found and "pam proposes the project gamma: &lt;b&gt;New money&lt;/b&gt;" in found
    own = needs(signed_in("pam"))
    assert at in own and "No administrator has decided yet on the project gamma." in own
    for who in ("dave", "otto", "vera"):
        assert NOTHING in needs(signed_in(who)), who


def test_who_asked_is_told_of_a_no_for_some_days_or_until_it_is_asked_again(
    calm: House, signed_in: SignedIn
) -> None:
    decided = {
        "state": RequestState.REJECTED,
        "decided_by": "ada",
        "decided_at": timezone.now(),
        "decision_reason": "Not <b>now</b>",
    }
    asked, made = needed.asked(calm.cluster), needed.proposed(calm.cluster)
    for row in (asked, made):
        type(row).objects.filter(pk=row.pk).update(**decided)
    pam = signed_in("pam")
    own = needs(pam)
    assert "ada rejected urgency 9 for alpha: Not &lt;b&gt;now&lt;/b&gt;" in own
    assert "ada rejected the project gamma: Not &lt;b&gt;now&lt;/b&gt;" in own
    assert 'href="/projects/alpha/"' in own and f'href="/project-proposals/{made.pk}/"' in own
    for who in ("ada", "dave", "otto", "vera"):
        assert NOTHING in needs(signed_in(who)), who
    needed.proposed(calm.cluster)
    assert "rejected the project" not in needs(signed_in("pam")), "it is asked for again"
    UrgencyRequest.objects.update(decided_at=timezone.now() - TOLD_FOR - timedelta(minutes=1))
    assert "rejected urgency" not in needs(signed_in("pam"))


def test_an_incident_is_told_once_and_who_cannot_act_sees_it_as_before(
    calm: House, signed_in: SignedIn
) -> None:
    needed.incident(calm.cluster)
    sentence = "Job 88 (bob) was stopped and did not come back."
    for who in ("ada", "vera"):
        assert flat(overview(signed_in(who))).count(sentence) == 1, who
    assert sentence in needs(signed_in("ada"))
    assert sentence not in needs(signed_in("vera"))


def test_many_of_a_kind_are_folded(calm: House, ada: Client) -> None:
    for i in range(SHOWN + 3):
        needed.approval(calm.cluster, "x", str(500 + i))
    found = needs(ada)
    assert "Approval: 3 more" in found and 'id="needs-approval"' in found
    assert found.index("<details") > [each.start() for each in re.finditer("<li>", found)][SHOWN - 1]
    assert found.count("<li>") == SHOWN + 3


def test_a_poll_brings_the_list(calm: House, ada: Client) -> None:
    needed.paused(calm.cluster)
    answer = ada.get("/?since=0", headers=part("partition-cards"))
    assert 'id="needs"' in answer.content.decode() and "ada paused it" in answer.content.decode()


# --- The last day -----------------------------------------------------------------------------------------


def minute(house: House, partition: str, ago: timedelta = timedelta(minutes=2), stops: int = 3) -> None:
    at = (timezone.now() - ago).replace(second=0, microsecond=0)
    PartitionMinute.objects.create(
        cluster=house.cluster, partition=partition, at=at, axis="user", total={"gpu": 8}, used={"gpu": 6},
        running={"0": 2, "none": 1}, pending={"1": 5}, stops=stops,
    )  # fmt: skip


def card(text: str, name: str) -> str:
    found = re.search(rf'<h2><a href="/partitions/{name}/">.*?</section>', text, re.DOTALL)
    assert found
    return flat(found[0])


def test_a_card_has_the_last_day_as_three_plots_that_lead_to_the_timeline(house: House, ada: Client) -> None:
    minute(house, "x")
    minute(house, "x", timedelta(hours=3), stops=1)
    minute(house, "x", timedelta(hours=30), stops=50)
    text = overview(ada)
    found = card(text, "x")
    assert found.count('<a class="day" href="/partitions/x/timeline/?span=24h') == 3
    for words in ("GPUs 75 % busy", "5 at most", "4 in all"):
        assert words in found, words
    for css in ("lv-0", "lv-none", "lv-1", "plain"):
        assert f'<path class="{css}" d="M' in found, css
    assert 'class="day"' not in card(text, "y"), "nothing is recorded of it"


def test_every_figure_of_a_card_is_a_link(house: House, ada: Client) -> None:
    found = card(overview(ada), "x")
    for address in ("?nodes=all", "?nodes=off", "?phase=running", "?phase=pending", "&amp;level=0"):
        assert re.search(rf'<a href="/partitions/x/[^"]*{re.escape(address)}">\s*\d+', found), address
    assert '<a href="/plans/?partition=x">' in found


def test_many_partitions_are_not_many_queries(house: House, ada: Client) -> None:
    def asks() -> int:
        clear_answers()
        with CaptureQueriesContext(connection) as queries:
            overview(ada)
        return len(queries)

    before = asks()
    for i in range(20):
        factories.make_partition(house.cluster, f"p{i:02}")
        minute(house, f"p{i:02}")
    assert asks() == before

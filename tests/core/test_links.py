"""Links that are kept from page to page: escaped whoever asked for one first, and by the script's place."""

from django.urls import set_script_prefix
from django.utils.safestring import SafeString

from console.core.markup import link_to

HOSTILE = '<b>&"eve"'


def test_a_link_is_escaped_whoever_asked_for_it_first() -> None:
    first = link_to("user", SafeString(HOSTILE))
    then = link_to("user", HOSTILE)
    assert first == then and "<b>" not in then and "&lt;b&gt;&amp;&quot;eve&quot;</a>" in then


def test_a_link_follows_the_place_of_the_console() -> None:
    at_root = link_to("user", "ann")
    set_script_prefix("/console/")
    try:
        assert link_to("user", "ann") == at_root.replace('href="/', 'href="/console/')
    finally:
        set_script_prefix("/")
    assert link_to("user", "ann") == at_root

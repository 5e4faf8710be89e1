"""The policy's page in sections: what is seen at first, what is folded, and what unfolds by itself."""

import re

from django.test import Client

from console.partitions.models import PolicyRevision
from tests import factories
from tests.markup import words_of
from tests.ui.conftest import House, SignedIn
from tests.ui.test_policy_pages import AT, FORM, typed


def unfolded(page: str) -> list[str]:
    return re.findall(r'<details class="sheet" id="([a-z-]+)" open>', page)


def test_at_first_five_settings_are_seen_and_the_rest_is_folded(house: House, ada: Client) -> None:
    page = ada.get(AT).content.decode()
    first = page.split('id="first"')[1].split('class="more-head"')[0]
    for name in ("mode", "enforcement", "exempt_s", "grace_s", "levels-0-name"):
        assert f'name="{name}"' in first
    assert 'name="bands"' not in first
    assert unfolded(page) == []
    for key in ("order", "overrides", "stopping", "limits", "protection", "task-types", "submission"):
        assert f'href="#{key}"' in page
        assert f'<details class="sheet" id="{key}">' in page


def test_a_folded_section_says_how_many_of_its_settings_differ_from_the_default(
    house: House, ada: Client
) -> None:
    document = factories.policy_document(
        "x", rest_s=60, cool_down_s=10, protected_users=["root"], user_overrides={}, task_overrides={}
    )
    house.x.revision = PolicyRevision.objects.create(
        partition=house.x, number=2, document=document, enforcement="shadow", author="ada"
    )
    house.x.save()
    said = words_of(ada.get(AT).content.decode())
    assert "More 3 differ from the default" in said
    assert "Limits 2 differ from the default" in said
    assert "Protection 1 differs from the default" in said
    assert "Overrides all as by default" in said


def test_a_section_with_an_error_or_with_new_rows_unfolds_itself(house: House, ada: Client) -> None:
    wrong = ada.post(AT, typed(bands="P7", rest_s="soon", users__0__level=""), headers=FORM)
    assert wrong.status_code == 422
    assert unfolded(wrong.content.decode())[-2:] == ["overrides", "limits"]
    assert 'data-guard="typed"' in wrong.content.decode()
    added = ada.post(AT, typed(row="types:add"), headers=FORM).content.decode()
    assert unfolded(added) == ["task-types"]


def test_who_may_only_read_has_no_bar_and_nothing_to_lose(house: House, signed_in: SignedIn) -> None:
    page = signed_in("otto").get(AT).content.decode()
    assert 'id="first"' in page
    assert "save-bar" not in page
    assert "data-guard" not in page
    assert "js/policy.js" not in page

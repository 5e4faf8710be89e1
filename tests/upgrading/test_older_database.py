"""A database of before sentences were data: it is upgraded, its audit log verifies, and its pages read the same.

`database.sql` and `audit-anchors.log` were written by Giveway as it was on 2026-11-23: a simulated cluster with plans
that were carried out, turned down and approved, incidents, pauses, an examination by the doctor, a level with a hostile
name.
`said.json` has what was kept in English with what pages in Chinese made of it then, and on which page it stood. These
files are never made anew: they stand for the installations that are out there.
"""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.database import SharedDatabase

HERE = Path(__file__).parent
SAID: dict[str, Any] = json.loads((HERE / "said.json").read_text(encoding="utf-8"))
SHOWN = [(page, language) for page in SAID["pages"] for language in ("en", "zh-hans")]
PEOPLES = {
    "/plans/3/": "102 no longer runs.",
    "/incidents/1/": "100 no longer runs.",
    "/": "No cycle has ever run.",
}
"""What people wrote in words that are also ours, and a page that has it."""
READ = """
import html, json, re, sys
from django.contrib.auth import get_user_model
from django.test import Client

client = Client()
client.force_login(get_user_model().objects.get(username="ada"))
read = {}
for page in json.loads(sys.argv[1]):
    for language in ("en", "zh-hans"):
        answer = client.get(page, headers={"accept-language": language}, follow=True)
        assert answer.status_code == 200, (page, answer.status_code)
        text = html.unescape(re.sub(r"<[^>]*>", " ", answer.content.decode()))
        read[f"{page} {language}"] = " ".join(text.split())
print(json.dumps(read))
"""


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> SharedDatabase:
    """The older database, upgraded as an installation is: with `migrate`."""
    home = tmp_path_factory.mktemp("older")
    home.chmod(0o700)
    file = home / "giveway.sqlite3"
    database = sqlite3.connect(file)
    database.executescript((HERE / "database.sql").read_text(encoding="utf-8"))
    database.close()
    shutil.copy(HERE / "audit-anchors.log", home / "audit-anchors.log")
    shared = SharedDatabase(f"sqlite:///{file}", home)
    done = shared.manage("migrate", "--verbosity=0")
    assert done.returncode == 0, done.stderr
    return shared


@pytest.fixture(scope="module")
def pages(older: SharedDatabase) -> dict[str, str]:
    """The text of each page in both languages."""
    read: dict[str, str] = json.loads(older.python(READ, json.dumps(list(SAID["pages"]))))
    return read


def test_its_audit_log_is_whole(older: SharedDatabase) -> None:
    done = older.manage("audit", "verify")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = (
        sqlite3.connect(older.home / "giveway.sqlite3")
        .execute("SELECT count(*) FROM audit_auditentry")
        .fetchone()[0]
    )
    assert rows > 30
    assert str(rows) in done.stdout


@pytest.mark.parametrize(("page", "language"), SHOWN)
def test_its_pages_read_the_same(pages: dict[str, str], page: str, language: str) -> None:
    kept = SAID["pages"][page]
    wanted = kept if language == "en" else [SAID["sentences"][text] for text in kept]
    assert [text for text in wanted if text not in pages[f"{page} {language}"]] == []


@pytest.mark.parametrize("page", PEOPLES)
def test_what_a_person_wrote_stands_as_it_was_written(pages: dict[str, str], page: str) -> None:
    assert PEOPLES[page] in pages[f"{page} zh-hans"]

"""The priority file in the browser: out, and in again in two steps."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from console.audit.models import AuditEntry
from console.partitions.models import Partition
from console.projects.models import Project
from tests.ui.conftest import House, SignedIn

PROPOSE, CONFIRM = "/priority-file/propose/", "/priority-file/confirm/"


def exported(browser: Client, query: str = "") -> dict[str, Any]:
    answer = browser.get(f"/priority-file/export.json{query}")
    document: dict[str, Any] = json.loads(answer.content)
    return document


def upload(document: Any) -> dict[str, Any]:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return {"file": SimpleUploadedFile("file.json", body, "application/json")}


def carried(page: str) -> dict[str, str]:
    """What the confirmation sends back: the file and the mark of the differences that were shown."""
    document = re.search(r'<textarea name="document"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    seen = re.search(r'name="seen" value="([0-9a-f]{64})"', page)
    assert document and seen
    return {"document": unescape(document.group(1)), "seen": seen.group(1)}


def test_the_whole_file_is_a_download(house: House, ada: Client) -> None:
    answer = ada.get("/priority-file/export.json")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="giveway-dev.json"'
    document = json.loads(answer.content)
    assert document["schema"] == "giveway.config/1"
    assert {project["code"] for project in document["projects"]} == {"alpha", "beta"}


def test_a_partition_administrator_gets_the_own_partition(house: House, signed_in: SignedIn) -> None:
    dave = signed_in("dave")
    assert [p["name"] for p in exported(dave, "?partition=x")["partitions"]] == ["x"]
    page = dave.get("/priority-file/").content.decode()
    assert "Partition x" in page
    assert "Partition y" not in page
    assert "Everything" not in page
    assert "Yours may hold the partitions that you administer" in page


def test_a_partition_administrator_imports_the_own_partition(house: House, signed_in: SignedIn) -> None:
    dave = signed_in("dave")
    document = exported(dave, "?partition=x")
    document["partitions"][0]["mode"] = "task"
    page = dave.post(PROPOSE, upload(document)).content.decode()
    assert "Make this 1 change" in " ".join(page.split())
    answer = dave.post(CONFIRM, carried(page) | {"reason": "tasks count"})
    assert answer.status_code == 302
    assert exported(dave, "?partition=x")["partitions"][0]["mode"] == "task"
    row = AuditEntry.objects.get(action="config.imported")
    assert (row.actor, row.reason) == ("dave", "tasks count")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda file, ada: file.update(exported(ada)), "$.projects: only an administrator imports projects"),
        (
            lambda file, ada: file["partitions"].extend(exported(ada, "?partition=y")["partitions"]),
            "$.partitions[1]: y is not a partition of yours; leave it out",
        ),
        (
            lambda file, _: file["partitions"][0].update(name="new"),
            "$.partitions[0]: new is not a partition of yours; leave it out",
        ),
        (
            lambda file, _: file["partitions"][0].update(admins=["dave", "mallory"]),
            "$.partitions[0].admins: only an administrator names who administers a partition",
        ),
        (
            lambda file, _: file["partitions"][0].pop("admins"),
            "$.partitions[0].admins: only an administrator names who administers a partition",
        ),
    ],
    ids=["projects", "another-partition", "a-new-partition", "another-administrator", "no-administrator"],
)
def test_what_is_not_theirs_is_refused_at_every_step(
    house: House, signed_in: SignedIn, ada: Client, spoil: Any, told: str
) -> None:
    dave = signed_in("dave")
    document = exported(dave, "?partition=x")
    spoil(document, ada)
    refused = dave.post(PROPOSE, upload(document))
    assert refused.status_code == 400 and told in unescape(refused.content.decode())
    sent = {"document": json.dumps(document), "seen": "0" * 64, "reason": "for me"}
    again = dave.post(CONFIRM, sent)
    assert again.status_code == 400 and told in unescape(again.content.decode())
    tried = dave.post("/priority-file/what-if/", sent)
    assert told in unescape(tried.content.decode())
    assert not AuditEntry.objects.filter(action="config.imported").exists()


def test_importing_an_export_changes_nothing(house: House, ada: Client) -> None:
    page = ada.post(PROPOSE, upload(exported(ada))).content.decode()
    assert "Nothing: everything is as the file says." in page


def test_differences_first_then_the_change(house: House, ada: Client) -> None:
    document = exported(ada)
    document["projects"][0]["urgency"] = 9
    page = ada.post(PROPOSE, upload(document)).content.decode()
    assert "1 difference" in page
    assert "project alpha, urgency:" in page
    assert Project.objects.get(code="alpha").urgency == 3, "not yet"
    done = ada.post(CONFIRM, {**carried(page), "reason": "as agreed"}, follow=True)
    assert "Imported, 1 change." in done.content.decode()
    assert Project.objects.get(code="alpha").urgency == 9
    assert AuditEntry.objects.get(action="config.imported").reason == "as agreed"


def test_without_a_reason_nothing_is_imported_and_the_file_is_kept(house: House, ada: Client) -> None:
    document = exported(ada)
    document["projects"][0]["urgency"] = 9
    kept = carried(ada.post(PROPOSE, upload(document)).content.decode())
    again = ada.post(CONFIRM, {**kept, "reason": ""}).content.decode()
    assert "Say why" in again
    assert carried(again) == kept
    assert Project.objects.get(code="alpha").urgency == 3


def test_what_was_not_shown_is_not_imported(house: House, ada: Client) -> None:
    """Between looking and confirming somebody else changed the same project: the differences are shown anew."""
    document = exported(ada)
    document["projects"][0]["urgency"] = 9
    kept = carried(ada.post(PROPOSE, upload(document)).content.decode())
    Project.objects.filter(code="alpha").update(size=77)
    page = ada.post(CONFIRM, {**kept, "reason": "as agreed"}).content.decode()
    assert "Something was changed since you looked." in page
    assert "project alpha, size:" in page
    assert Project.objects.get(code="alpha").urgency == 3


def test_going_to_enforcement_is_said_aloud(house: House, ada: Client) -> None:
    document = exported(ada)
    document["partitions"][0]["enforcement"] = "enforce"
    page = ada.post(PROPOSE, upload(document)).content.decode()
    assert "goes to enforce: from the next cycle on, running jobs of lower rank are stopped there." in page
    assert Partition.objects.get(name="x").revision.enforcement == "shadow"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"[]", "$"),
        (b'{"schema": "giveway.config/1", "cluster": "dev", "projects": [], "partitions": [], "x": 1}', "x"),
        (
            b'{"schema": "giveway.config/1", "cluster": "other", "projects": [], "partitions": []}',
            "$.cluster",
        ),
        (
            (
                b'{"schema": "giveway.config/1", "cluster": "dev", "partitions": [],'
                b' "projects": [{"code": "a", "size": 0, "grade": 1, "urgency": 1}]}'
            ),
            "$.projects[0].size",
        ),
        (b" " * (2 * 1024 * 1024 + 1), "at most 2097152 here: import it with manage.py config import"),
    ],
    ids=["empty", "half", "utf16", "list", "unknown-key", "other-cluster", "bad-number", "too-large"],
)
def test_a_faulty_file_is_one_clear_line(body: bytes, message: str, house: House, ada: Client) -> None:
    answer = ada.post(PROPOSE, upload(body))
    assert answer.status_code == 400
    assert message in unescape(answer.content.decode())


def test_no_file_is_said(house: House, ada: Client) -> None:
    assert "no file was chosen" in ada.post(PROPOSE, {"file": "text, no file"}).content.decode()


def test_a_confirmation_that_was_tampered_with_is_refused(house: House, ada: Client) -> None:
    assert ada.post(CONFIRM, {"document": "{", "seen": "", "reason": "x"}).status_code == 400
    document = json.dumps({**exported(ada), "projects": []})
    page = ada.post(CONFIRM, {"document": document, "seen": "0" * 64, "reason": "x"})
    assert not AuditEntry.objects.filter(action="config.imported").exists()
    assert page.status_code == 200

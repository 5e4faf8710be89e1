"""`manage.py config`: what it prints, where, and with which exit status."""

import io
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from console.audit.models import AuditEntry
from console.partitions.models import Partition
from console.projects.models import Project
from tests.config.test_priority_file import FILE
from tests.plugins.database import SharedDatabase

pytestmark = pytest.mark.django_db


class Said:
    """What a command said and how it ended."""

    def __init__(self, *arguments: str) -> None:
        out, err = io.StringIO(), io.StringIO()
        self.status = 0
        try:
            call_command("config", *arguments, stdout=out, stderr=err)
        except SystemExit as end:
            self.status = int(str(end.code))
        self.out, self.err = out.getvalue(), err.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path, FILE)


def write(folder: Path, document: Any) -> Path:
    path = folder / "priorities.json"
    path.write_text(json.dumps(document))
    return path


def test_an_import_tells_what_it_changed(file: Path, tmp_path: Path) -> None:
    said = Said("import", str(file))
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("Imported, 3 changes:\n  projects.alpha: added {")
    entry = AuditEntry.objects.get(action="config.imported")
    assert entry.actor.startswith("shell:")
    assert entry.reason == f"Imported from {file}"
    said = Said("import", str(write(tmp_path, {**FILE, "projects": [{**FILE["projects"][0], "urgency": 5}]})))
    assert said.out == (
        "Imported, 1 change:\n"
        "  projects.alpha.urgency: 3 → 5\n"
        "Left as they are, because the file does not name them: projects beta.\n"
    )


def test_a_dry_run_says_so_and_changes_nothing(file: Path) -> None:
    said = Said("import", str(file), "--dry-run")
    assert said.out.startswith("Dry run, nothing was changed. Importing this makes 3 changes:\n")
    assert not Project.objects.exists() and not Partition.objects.exists() and not AuditEntry.objects.exists()


def test_an_export_goes_to_a_file_and_back_without_a_change(file: Path, tmp_path: Path) -> None:
    Said("import", str(file), "--reason", "Set up.", "--actor", "pam")
    assert set(AuditEntry.objects.values_list("actor", "reason")) == {("pam", "Set up."), ("giveway", "")}
    printed = Said("export").out
    out = tmp_path / "out.json"
    assert Said("export", "-o", str(out)).out == ""
    assert out.read_text() == printed
    assert stat.S_IMODE(out.stat().st_mode) & 0o444
    rows = AuditEntry.objects.count()
    said = Said("import", str(out))
    assert said.out == "Nothing to change: everything is as the file says.\n"
    assert AuditEntry.objects.count() == rows


def test_one_partition_is_exported(file: Path) -> None:
    Said("import", str(file))
    document = json.loads(Said("export", "--partition", "x").out)
    assert [entry["name"] for entry in document["partitions"]] == ["x"]
    said = Said("export", "--partition", "nope")
    assert (said.status, said.out) == (2, "")
    assert said.err == "There is no partition nope in cluster dev.\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "$: is not JSON"),
        (b"", "$: is not JSON"),
        (b"\xff", "$: is not UTF-8"),
        (b"[" * 100_000, "$: is nested too deeply"),
        (b"[]", "$: must be an object"),
        (b'{"schema": "giveway.config/1", "schema": "x"}', "$.schema: stands twice"),
        (
            json.dumps({**FILE, "cluster": "far"}).encode(),
            '$.cluster: there is no cluster "far" here; attached: dev',
        ),
        (json.dumps({**FILE, "note": 1}).encode(), "$.note: unknown key"),
        (
            json.dumps({**FILE, "projects": [{**FILE["projects"][0], "code": "a b"}]}).encode(),
            "$.projects[0].code: ",
        ),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_status_2(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    for dry_run in ([], ["--dry-run"]):
        said = Said("import", str(path), *dry_run)
        assert (said.status, said.out) == (2, "")
        assert said.err.startswith(message)
        assert len(said.err.splitlines()) == 1
    assert not Project.objects.exists() and not Partition.objects.exists() and not AuditEntry.objects.exists()


def test_files_that_cannot_be_read_or_written(file: Path, tmp_path: Path) -> None:
    said = Said("import", str(tmp_path / "none.json"))
    assert (said.status, said.err) == (
        2,
        f"{tmp_path / 'none.json'} cannot be read: No such file or directory.\n",
    )
    said = Said("export", "-o", str(tmp_path / "no" / "where.json"))
    assert said.status == 2
    assert "cannot be written: No such file or directory." in said.err
    said = Said("export", "-o", str(tmp_path))
    assert said.status == 2
    assert {path.name for path in tmp_path.iterdir()} == {"priorities.json"}


def test_nobody_imports_as_the_system(file: Path) -> None:
    said = Said("import", str(file), "--actor", "Giveway")
    assert (said.status, said.err) == (2, "--actor: giveway stands for the system itself; name a person.\n")


def test_standard_input_and_real_exit_statuses(shared_database: SharedDatabase) -> None:
    done = shared_database.manage("config", "import", "-", given=json.dumps(FILE))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Imported, 3 changes:\n")
    exported = shared_database.manage("config", "export")
    again = shared_database.manage("config", "import", "-", given=exported.stdout)
    assert again.stdout == "Nothing to change: everything is as the file says.\n"
    bad = exported.stdout.replace('"urgency": 3', '"urgency": -3')
    refused = shared_database.manage("config", "import", "-", "--dry-run", given=bad)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "$.projects[0].urgency: must not be negative, not -3\n"
    told = shared_database.python(
        "from console.audit.models import AuditEntry\n"
        "print(AuditEntry.objects.get(action='config.imported').reason)"
    )
    assert told == "Imported from standard input\n"

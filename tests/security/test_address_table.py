"""`docs/permissions-by-address.md` is made of the reviewed tables that every address is visited with as every role.

After a change of a table, `make docs` writes the document anew (docs/development.md, "Add a page").
"""

import os
from collections.abc import Iterator
from pathlib import Path

from tests.api.test_access import TABLE
from tests.ui.test_access import CASES

DOCUMENT = Path(__file__).parents[2] / "docs" / "permissions-by-address.md"
HEAD = """# Every address, as everybody

Made of the tables that `tests/ui/test_access.py` and `tests/api/test_access.py` visit every address with
(`tests/security/test_address_table.py`); an address without a row fails there. Alpha is the manager's project and
x the partition administrator's partition; beta and y are others'. The numbers are HTTP statuses: 2xx and 409 mean
may; 302 done or, for nobody, to the sign-in; 400 may, but the test sends nothing useful; 401 not signed in;
403 may not do this; 404 not there for you.

| Method | Address | Nobody | Viewer | Project manager | Partition administrator | Auditor | Administrator |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def rows() -> Iterator[str]:
    """A line for each row of the two tables."""
    for case in CASES:
        what = " ".join(filter(None, (case.page, *case.args, case.query)))
        yield _row(case.method, what, case.statuses)
    for name, arguments, method, statuses in TABLE:
        yield _row(method, " ".join([name, *map(str, arguments.values())]), statuses)


def _row(method: str, what: str, statuses: tuple[int, ...]) -> str:
    return f"| {method.upper()} | `{what}` | {' | '.join(str(status) for status in statuses)} |"


def test_the_document_says_what_is_visited() -> None:
    text = HEAD + "\n".join(rows()) + "\n"
    if os.environ.get("GIVEWAY_WRITE_DOCS") == "1":
        DOCUMENT.write_text(text)
    assert DOCUMENT.read_text() == text, 'run `make docs` (docs/development.md, "Add a page")'


def test_every_row_is_about_everybody() -> None:
    assert {len(case.statuses) for case in CASES} | {len(row[3]) for row in TABLE} == {6}

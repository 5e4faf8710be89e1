"""No test writes while it still reads rows in parts on the same connection (`QuerySet.iterator`).

Outside of a transaction SQLite then refuses the write, at once and with "database is locked", as soon as anybody else
has written since the reading began; here nobody else writes, so nothing would be seen of it.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.db.backends.utils import CursorWrapper
from django.db.models.sql import compiler

WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")
_CURSOR: Any = CursorWrapper
_open: Counter[int] = Counter()
"""How many readings in parts are under way, by connection."""


class WrittenWhileReadingError(AssertionError):
    """Collect what is read first, or read it in parts by keys."""


@pytest.fixture(scope="session", autouse=True)
def nothing_is_written_while_rows_are_read_in_parts() -> Iterator[None]:
    read_in_parts, execute = compiler.cursor_iter, _CURSOR._execute_with_wrappers

    def reading(cursor: Any, *args: Any) -> Iterator[Any]:
        _open[id(cursor.db)] += 1
        try:
            yield from read_in_parts(cursor, *args)
        finally:
            _open[id(cursor.db)] -= 1

    def executing(cursor: Any, sql: Any, *args: Any, **kwargs: Any) -> Any:
        if _open[id(cursor.db)] and str(sql).lstrip().upper().startswith(WRITES):
            raise WrittenWhileReadingError(f"while rows are read in parts: {str(sql)[:200]}")
        return execute(cursor, sql, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "cursor_iter", reading)
        patch.setattr(_CURSOR, "_execute_with_wrappers", executing)
        yield

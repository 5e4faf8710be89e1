"""Questions to JSON columns that Django does not ask, or asks too slowly for ten thousand jobs."""

from typing import Any

from django.db.models import BooleanField, Lookup
from django.db.models.sql.compiler import SQLCompiler

_KEYS = {
    "sqlite": "SELECT 1 FROM json_each({column}) WHERE key IN ({marks})",
    "postgresql": "SELECT 1 FROM jsonb_object_keys({column}) AS key WHERE key IN ({marks})",
}
"""By the vendor of the database."""


class HasAnyKey(Lookup):
    """Whether a JSON object has any of some keys, one at least: `jobs.filter(HasAnyKey(F("alloc"), names))`.

    Django's `has_any_keys` searches for one key after the other: with a hundred nodes that takes SQLite seven times
    as long as to take the keys that there are and look whether they are among the wanted ones.
    """

    prepare_rhs = False
    output_field = BooleanField()

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """Names come as parameters."""
        column, parameters = self.process_lhs(compiler, connection)
        marks = ", ".join(["%s"] * len(self.rhs))
        keys = _KEYS[connection.vendor].format(column=column, marks=marks)
        return f"EXISTS ({keys})", (*parameters, *self.rhs)

"""Names in addresses: anything a name of Slurm's may hold, without what a database refuses to look up."""

from django.urls import register_converter
from django.urls.converters import StringConverter


class NameConverter(StringConverter):
    """A job id, a partition, a node or a project's code: no slash, no control characters."""

    regex = r"[^/\x00-\x1f\x7f]+"


def register() -> None:
    """Make `<name:…>` known to Django's addresses."""
    register_converter(NameConverter, "name")

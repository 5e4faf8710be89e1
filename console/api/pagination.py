"""Long lists come in pages: `?limit=50&offset=100`, at most 500 rows at once."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.request import Request

MAX_LIMIT = 500
MAX_OFFSET = 2**31 - 1


class Pages(LimitOffsetPagination):
    """Limit and offset; a limit above the largest is brought down to it, nonsense is refused by name."""

    default_limit = 100
    max_limit = MAX_LIMIT

    def get_limit(self, request: Request) -> int:
        """Rows per page, 1 to `MAX_LIMIT`."""
        return min(self._number(request, self.limit_query_param, 1, self.default_limit), MAX_LIMIT)

    def get_offset(self, request: Request) -> int:
        """Rows to leave out at the start."""
        return self._number(request, self.offset_query_param, 0, 0)

    def _number(self, request: Request, name: str, smallest: int, default: int) -> int:
        raw = request.query_params.get(name)
        if raw is None:
            return default
        if not (raw.isascii() and raw.isdigit() and len(raw) <= 10 and smallest <= int(raw) <= MAX_OFFSET):
            said = _("Must be a whole number from %(least)s to %(most)s.")
            raise ValidationError({name: [said % {"least": smallest, "most": MAX_OFFSET}]})
        return int(raw)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """The two parameters with their bounds, for the OpenAPI document."""
        limit, offset = super().get_schema_operation_parameters(view)
        limit["schema"] |= {"minimum": 1, "maximum": MAX_OFFSET, "default": self.default_limit}
        limit["description"] = f"Rows per page; more than {MAX_LIMIT} counts as {MAX_LIMIT}."
        offset["schema"] |= {"minimum": 0, "maximum": MAX_OFFSET, "default": 0}
        offset["description"] = "Rows to leave out at the start."
        return [limit, offset]

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A page; `next` and `previous` are always there, null at the ends."""
        link = {"type": ["string", "null"], "format": "uri"}
        properties = {"count": {"type": "integer"}, "next": link, "previous": link, "results": schema}
        return {"type": "object", "required": list(properties), "properties": properties}

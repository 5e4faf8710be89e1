"""What the OpenAPI document says of every operation. DRF's settings name this module, so it imports no view."""

import inspect
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework.serializers import EmailField

from console.api.errors import ErrorSerializer
from console.api.repeats import Validated

WRITING = frozenset({"POST", "PUT", "PATCH"})


def _header(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.HEADER, description=description)


IF_NONE_MATCH = _header("If-None-Match", "The `ETag` of an answer that you have: it is not sent again (304).")
IF_MATCH = _header("If-Match", "The `ETag` of what you have read: anything newer is left alone (412).")
IDEMPOTENCY_KEY = _header(
    "Idempotency-Key",
    "Any text of yours, new for each change: sent again with the same request it gets the first answer, for a day.",
)


class ApiSchema(AutoSchema):
    """Adds to every operation the errors that it can answer with, and a title."""

    def get_description(self) -> str:
        """The docstring of the method, or of the view when the method is one that all views share."""
        if own := type(self.view).__dict__.get(self._action()):
            return inspect.getdoc(own) or ""
        return (
            getattr(self.view, "one", "")
            if self._action() == "retrieve"
            else inspect.getdoc(type(self.view)) or ""
        )

    def _action(self) -> str:
        """The view's method that answers: of a set of views it has a name of its own."""
        return str(getattr(self.view, "action", None) or self.method.lower())

    def get_summary(self) -> str:
        """The first sentence of the description."""
        return self.get_description().split("\n")[0].split(". ")[0].rstrip(".")

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        for status in sorted(self._errors()):
            bodies.setdefault(str(status), self._get_response_for_code(ErrorSerializer, str(status)))
        if self._is_validated() and self.method == "GET":
            bodies["304"] = {"description": "You have it already."}
        return bodies

    def _insert_field_validators(self, field: Any, schema: dict[str, Any]) -> None:
        """An e-mail address that is only read may be empty, and "" has not the `format` of one."""
        super()._insert_field_validators(field, schema)
        if isinstance(field, EmailField) and field.read_only:
            schema.pop("format", None)

    def get_override_parameters(self) -> list[Any]:
        """The headers that all resources know."""
        if not self._is_validated():
            return []
        return [IF_NONE_MATCH] if self.method == "GET" else [IDEMPOTENCY_KEY, IF_MATCH]

    def _is_validated(self) -> bool:
        """A resource of ours, for people who are signed in."""
        return isinstance(self.view, Validated) and self.method not in getattr(self.view, "open_methods", ())

    def _is_read_too(self) -> bool:
        """Whether the address can be read, so that a write may be refused for what is there."""
        return "get" in (getattr(self.view, "action_map", None) or {}) or hasattr(self.view, "get")

    def _errors(self) -> set[int]:
        """400 everywhere: an unknown query parameter is refused; and 503: the database may be away. The rest follows
        from what the view says."""
        further = getattr(self.view, "further_errors", {})
        errors = {400, 503} | set(further.get(self.method, ())) | set(further.get(self._action(), ()))
        if self.method not in getattr(self.view, "open_methods", ()):
            errors |= {401, 403}
        if "{" in self.path or getattr(self.view, "permission", None):
            errors.add(404)
        if self.method in WRITING:
            errors |= {413, 415}
        if self.method != "GET" and self._is_validated():
            errors |= {409, 412, 422, 429} | ({404} if self._is_read_too() else set())
        return errors

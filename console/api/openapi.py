"""What the OpenAPI document says of every operation. Apart from `schema`: DRF's settings name this module."""

import inspect
from typing import Any

from drf_spectacular.openapi import AutoSchema

from console.api.errors import ErrorSerializer

WRITING = frozenset({"POST", "PUT", "PATCH"})


class ApiSchema(AutoSchema):
    """Adds to every operation the errors that it can answer with, and a title."""

    def get_description(self) -> str:
        """The docstring of the method, or of the view when the method is one that all views share."""
        own = type(self.view).__dict__.get(self.method.lower())
        return inspect.getdoc(own or type(self.view)) or ""

    def get_summary(self) -> str:
        """The first sentence of the description."""
        return self.get_description().split("\n")[0].split(". ")[0].rstrip(".")

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        for status in sorted(self._errors()):
            bodies.setdefault(str(status), self._get_response_for_code(ErrorSerializer, str(status)))
        return bodies

    def _errors(self) -> set[int]:
        """400 everywhere: an unknown query parameter is refused. The rest follows from what the view says."""
        errors = {400} | set(getattr(self.view, "further_errors", {}).get(self.method, ()))
        if self.method not in getattr(self.view, "open_methods", ()):
            errors |= {401, 403}
        if "{" in self.path or getattr(self.view, "permission", None):
            errors.add(404)
        if self.method in WRITING:
            errors |= {413, 415}
        return errors

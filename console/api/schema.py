"""The OpenAPI document and its page."""

from typing import Any, ClassVar

from django.contrib.auth.decorators import login_required
from django.utils.decorators import method_decorator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiJsonRenderer2, OpenApiYamlRenderer2
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.permissions import IsAuthenticated

from console.api.repeats import Validated


class SchemaView(Validated, SpectacularAPIView):
    """The OpenAPI document, for signed-in people: JSON, or YAML by `?format=yaml`."""

    renderer_classes: ClassVar[Any] = [OpenApiJsonRenderer2, OpenApiJsonRenderer, OpenApiYamlRenderer2]

    permission_classes: ClassVar[Any] = [IsAuthenticated]


@method_decorator(login_required, name="dispatch")
class DocsView(SpectacularSwaggerSplitView):
    """Swagger UI from our own static files; who is not signed in is sent to the login page.

    The split view and our own template have no inline script and no inline style, so the page lives with the
    console's strict content security policy.
    """

    permission_classes: ClassVar[Any] = [IsAuthenticated]
    url_name = "api-schema"
    template_name = "api/docs.html"

"""Django's entry for the `api` app."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The `api` app."""

    name = "console.api"
    label = "api"

    def ready(self) -> None:
        """Start to listen to the accounts; columns of sentences are said in the language of the request."""
        from rest_framework.serializers import ModelSerializer

        from console.api import receivers  # noqa: F401 - its receivers connect themselves
        from console.api.fields import SaidField
        from console.core.sentence_field import SentenceField

        ModelSerializer.serializer_field_mapping[SentenceField] = SaidField

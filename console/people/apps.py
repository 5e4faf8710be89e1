"""Django's entry for the `people` app."""

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    """The `people` app."""

    name = "console.people"
    label = "people"

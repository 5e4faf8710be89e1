"""Django's entry for the `starts` app."""

from django.apps import AppConfig


class StartsConfig(AppConfig):
    name = "console.starts"
    label = "starts"

"""Django's entry for the `insights` app."""

from django.apps import AppConfig


class InsightsConfig(AppConfig):
    name = "console.insights"
    label = "insights"

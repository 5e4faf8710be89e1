"""Django's entry for the `forecasts` app."""

from django.apps import AppConfig


class ForecastsConfig(AppConfig):
    name = "console.forecasts"
    label = "forecasts"

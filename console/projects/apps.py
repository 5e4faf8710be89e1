"""Django's entry for the `projects` app."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    """The `projects` app."""

    name = "console.projects"
    label = "projects"

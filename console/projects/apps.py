"""Django's entry for the `projects` app."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    """The `projects` app."""

    name = "console.projects"
    label = "projects"

    def ready(self) -> None:
        """Differences of projects and their rules say values as the forms do."""
        from console.core.labels import add_labels
        from console.projects.forms import SIZE_GRADE
        from console.projects.models import UrgencyBy

        add_labels("urgency_by", UrgencyBy.choices)
        add_labels("size_grade", SIZE_GRADE)

"""Django's entry for the `projects` app."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    """The `projects` app."""

    name = "console.projects"
    label = "projects"

    def ready(self) -> None:
        """Differences of projects and their rules say values as the forms do."""
        from console.core.labels import label_values
        from console.projects.forms import SIZE_GRADE
        from console.projects.models import UrgencyBy

        label_values("urgency_by", UrgencyBy.choices)
        label_values("size_grade", SIZE_GRADE)

"""Labels and reasons as sentences with codes and parameters, beside their English."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """An empty column: rows of before are what they were, and so are their hashes."""

    dependencies = [("audit", "0003_find_rows_and_keep_checks")]

    operations = [migrations.AddField("auditentry", "said", models.JSONField(null=True))]

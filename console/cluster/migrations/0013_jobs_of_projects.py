from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0012_made_up_past"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["cluster", "project", "job_id"], name="cluster_job_project"),
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("cluster", "0011_units_of_nodes")]

    operations = [
        migrations.AddField(
            model_name="cluster",
            name="made_up_until",
            field=models.DateTimeField(null=True),
        ),
    ]

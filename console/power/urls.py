"""A partition's compute power: its figures, its rule, measuring now, figures that people know."""

from django.urls import URLPattern, path

from console.power import views

urlpatterns: list[URLPattern] = [
    path("partitions/<str:name>/power/", views.power, name="partition-power"),
    path("partitions/<str:name>/power/rule/", views.change_rule, name="partition-power-rule"),
    path("partitions/<str:name>/power/measure/", views.measure_now, name="partition-power-measure"),
    path("partitions/<str:name>/power/figures/", views.set_figures, name="partition-power-figures"),
    path("partitions/<str:name>/power/losses/", views.losses, name="partition-power-losses"),
    path("partitions/<str:name>/power/incidents/<int:pk>/", views.incident, name="power-incident"),
    path(
        "partitions/<str:name>/power/incidents/<int:pk>/drain/",
        views.drain,
        name="power-incident-drain",
    ),
    path(
        "partitions/<str:name>/power/incidents/<int:pk>/put-back/",
        views.put_back,
        name="power-incident-put-back",
    ),
    path(
        "partitions/<str:name>/power/incidents/<int:pk>/leave/",
        views.leave,
        name="power-incident-leave",
    ),
]

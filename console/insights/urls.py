"""The page of insights."""

from django.urls import URLPattern, path

from console.insights import views

urlpatterns: list[URLPattern] = [path("insights/", views.insights, name="insights")]

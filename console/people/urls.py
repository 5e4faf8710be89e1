"""The accounts of others."""

from django.urls import URLPattern, path

from console.people import views

urlpatterns: list[URLPattern] = [
    path("people/", views.people, name="people"),
    path("people/<str:username>/", views.account_of, name="person"),
    path("people/<str:username>/sessions/end/", views.sign_out, name="person-sessions-end"),
    path("people/<str:username>/tokens/<int:pk>/revoke/", views.revoke, name="person-token-revoke"),
]

"""Signing in and out, one's own account."""

from django.urls import URLPattern, path

from console.accounts import views

urlpatterns: list[URLPattern] = [
    path("sign-in/", views.sign_in, name="login"),
    path("sign-out/", views.sign_out, name="logout"),
    path("theme/", views.theme, name="theme"),
    path("account/", views.account, name="account"),
    path("account/token/", views.new_token, name="account-token"),
    path("account/token/revoke/", views.end_token, name="account-token-revoke"),
    path("account/password/", views.change_password, name="account-password"),
]

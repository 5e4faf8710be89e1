"""Signing in and out, one's own account."""

from django.urls import URLPattern, path

from console.accounts.views import account, signing, single_sign_on

urlpatterns: list[URLPattern] = [
    path("sign-in/", signing.sign_in, name="login"),
    path("sign-in/oidc/", single_sign_on.begin, name="oidc"),
    path("sign-in/oidc/callback/", single_sign_on.callback, name="oidc-callback"),
    path("sign-out/", signing.sign_out, name="logout"),
    path("theme/", signing.theme, name="theme"),
    path("language/", signing.language, name="language"),
    path("account/", account.account, name="account"),
    path("account/token/", account.new_token, name="account-token"),
    path("account/token/<int:pk>/revoke/", account.end_token, name="account-token-revoke"),
    path("account/password/", account.change_password, name="account-password"),
    path("account/sessions/end/", account.sign_out_everywhere, name="account-sessions-end"),
]

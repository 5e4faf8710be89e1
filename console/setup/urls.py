"""The first minutes, and what an invitation's link leads to."""

from django.urls import URLPattern, path

from console.setup.views import anonymous, importing, steps

urlpatterns: list[URLPattern] = [
    path("setup/", steps.overview, name="setup"),
    path("setup/administrator/", anonymous.seat, name="setup-administrator"),
    path("setup/cluster/", steps.cluster, name="setup-cluster"),
    path("setup/import/", importing.import_, name="setup-import"),
    path("setup/sign-in/", steps.sign_in, name="setup-sign-in"),
    path("setup/people/", steps.people, name="setup-people"),
    path("setup/people/withdraw/", steps.withdraw_invitation, name="setup-withdraw"),
    path("setup/shadow/", steps.shadow, name="setup-shadow"),
    path("setup/later/", steps.later, name="setup-later"),
    path("invitation/", anonymous.invitation, name="invitation"),
]

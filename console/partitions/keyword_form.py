"""A level's keyword in a form, and who may use it: nobody else unless everybody is chosen."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.partitions.patterns import PatternsField
from scheduler.model.policy import LevelRule


class KeywordForm(forms.Form):
    """The keyword of one level. Open is chosen, never left over: a row without names is nobody's."""

    keyword = forms.CharField(label=gettext_lazy("Keyword"), max_length=60, required=False)
    keyword_users = PatternsField(label=gettext_lazy("Who may use the keyword"), one_line=True)
    keyword_users.widget.attrs["placeholder"] = gettext_lazy("nobody")
    keyword_open = forms.BooleanField(label=gettext_lazy("Everybody may use the keyword"), required=False)

    def clean(self) -> dict[str, Any]:
        """Everybody, or some."""
        values = super().clean() or {}
        if values.get("keyword_open") and values.get("keyword_users"):
            self.add_error("keyword_users", _("Everybody, or these names: choose one of the two."))
        return values


def keyword_initial(rule: LevelRule) -> dict[str, Any]:
    """A level's keyword as the form shows it."""
    return {
        "keyword": rule.keyword or "",
        "keyword_users": rule.keyword_users or (),
        "keyword_open": bool(rule.keyword) and rule.keyword_users is None,
    }


def users_of(row: dict[str, Any]) -> tuple[str, ...] | None:
    """Who may use the keyword of a valid row; None: everybody, or there is no keyword to be used."""
    names: tuple[str, ...] = row["keyword_users"]
    return names or (() if row["keyword"] and not row["keyword_open"] else None)

"""Terms that explain themselves in place: a button with the word, and what it means beside it when it is pressed.

The browser's own popover: works with keyboard and touch, needs no script, and is closed by Escape.
"""

from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from console.core.templatetags.ui import colon

register = template.Library()

TERMS: dict[str, tuple[Any, Any]] = {
    "level": (
        _("level"),
        _("A rank in one partition, P0 the highest. A user’s comes from the project’s score, a job’s from its name, "
          "its pattern or its project; nothing configured ranks below all."),
    ),
    "band": (
        _("band"),
        _("Levels that do not stop each other: only jobs of a lower band make room for those of a higher one."),
    ),
    "quota": (
        _("quota"),
        _("How many jobs of a level each user may have running in the partition, and what those of a user, or of all "
          "users together, may hold."),
    ),
    "grace": (
        _("grace"),
        _("The seconds that a job has between the checkpoint signal and its requeue, to save its state."),
    ),
    "cool_down": (
        _("cool-down"),
        _("For this long after a job was stopped, nobody is stopped for it: two jobs do not take turns."),
    ),
    "override": (_("override"), _("A level by hand. It comes before scores, keywords and patterns.")),
    "shadow": (
        _("shadow"),
        _("Plans are made, shown and recorded, and nothing is touched on the cluster."),
    ),
    "size": (_("size"), _("How large a project is, in any unit that you keep: people, money. Larger ranks higher.")),
    "grade": (_("grade"), _("A project’s rank: 1 is the most important.")),
    "urgency": (_("urgency"), _("How near delivery is: larger is more urgent.")),
}  # fmt: skip


@register.simple_tag(takes_context=True)
def term(context: Any, key: str) -> SafeString:
    """The word, with its meaning in reach."""
    word, meaning = TERMS[key]
    count = context.render_context.get("terms", 0) + 1
    context.render_context["terms"] = count
    name = f"term-{key}-{count}"
    return format_html(
        '<button type="button" class="term-word" popovertarget="{0}">{1}</button>'
        '<span class="term-meaning" id="{0}" popover><strong>{1}</strong>{3}{2}</span>',
        name,
        word,
        meaning,
        colon(),
    )

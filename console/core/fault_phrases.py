"""The same as `phrases.py` of faults: what an input lacks, what a check of the audit log finds."""

from django.utils.translation import gettext_noop as _

FAULTS: tuple[str, ...] = (
    # What an input lacks (scheduler/contracts)
    _("is missing"),
    _("must be an object, not %(what)s"),
    _("stands twice; keep one"),
    _("must be a text, not %(what)s"),
    _("must not be empty"),
    _("must be true or false, not %(what)s"),
    _("must be a whole number, not %(what)s"),
    _("must not be negative, not %(what)s"),
    _("is too large; at most %(most)s"),
    _("must be at least 1"),
    _("must be a number, not %(what)s"),
    _("must be above 0"),
    _("must be a list, not %(what)s"),
    _("%(name)s stands twice; keep one"),
    _("unknown key; did you mean %(name)s?"),
    _("unknown key; known are %(names)s"),
    _("%(name)s is not one of %(names)s"),
    _("must be below %(n)s, the threshold of %(level)s above it"),
    _("%(name)s is no level of the partition; known are %(names)s"),
    _("%(name)s is no moment; write 2026-12-01T18:00:00Z"),
    _("%(name)s has no time zone; write 2026-12-01T18:00:00Z"),
    _("no partition has a level %(name)s; name an existing one"),
    _("must be a day such as 2026-12-31, not %(what)s"),
    _("is not JSON: %(what)s at line %(n)s, column %(m)s"),
    # What a check of the audit log finds
    _("Row %(n)s is missing: there are later ones."),
    _("Row %(n)s is missing: the next one there is row %(m)s."),
    _("Row %(n)s was changed: its hash does not fit what it says."),
    _("Row %(n)s was changed, or another row was put in its place: its hash does not fit what it says."),
    _("Row %(n)s does not follow row %(m)s: one of them was replaced or the order was changed."),
    _("Row %(n)s is not the one that was verified before, or is gone."),
    _("Row %(n)s is missing, the log's end was cut off: its head is row %(m)s."),
    _("Row %(n)s was not added by Giveway: the head is row %(m)s."),
    _("The head's hash is not that of row %(n)s."),
    _("The head of the log is gone from the database."),
    _("The trigger %(name)s that guards the log is not there or switched off."),
    _("The trigger %(name)s that guards the log is not the one that Giveway made: it does something else."),
    _("The trigger %(name)s on the log is none of Giveway's."),
    _("The log is empty, but there are %(what)s: it was emptied, or another one was put in its place."),
    _("There is no anchor in %(path)s yet; one is written every minute."),
    _(
        "Nothing outside the database proves the rows after row %(n)s, the last one that was anchored, "
        "on %(moment)s UTC: %(m)s up to row %(row)s."
    ),
    _("No anchor was ever written to %(path)s; the periodic task `audit anchor` does not run."),
    _("Row %(n)s is not the one that was anchored on %(moment)s UTC: the log was rewritten there or before."),
)

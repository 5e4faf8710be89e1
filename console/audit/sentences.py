"""What is said of the log itself, by code: what a check of it finds."""

SENTENCES: dict[str, str] = {
    "audit.log": "audit log",
    "audit.rows": "%(n)s rows of the log",
    "audit.rows.one": "%(n)s row of the log",
    # What is wrong with a row
    "audit.row.missing": "Row %(n)s is missing: there are later ones.",
    "audit.row.skipped": "Row %(n)s is missing: the next one there is row %(m)s.",
    "audit.row.unreadable": "Row %(n)s was changed: it cannot be read (%(said)s).",
    "audit.row.changed": "Row %(n)s was changed: its hash does not fit what it says.",
    "audit.row.exchanged": (
        "Row %(n)s was changed, or another row was put in its place: its hash does not fit what it says."
    ),
    "audit.row.order": "Row %(n)s does not follow row %(m)s: one of them was replaced or the order was changed.",
    "audit.row.not_verified": "Row %(n)s is not the one that was verified before, or is gone.",
    "audit.row.not_anchored": (
        "Row %(n)s is not the one that was anchored on %(moment)s UTC: the log was rewritten there or before."
    ),
    # Its end
    "audit.end.cut_off": "Row %(n)s is missing, the log's end was cut off: its head is row %(m)s.",
    "audit.end.cut_off.anchored": (
        "Row %(n)s is missing, the log's end was cut off: row %(m)s was the last one on %(moment)s UTC (anchored in "
        "%(path)s)."
    ),
    "audit.end.strange": "Row %(n)s was not added by Giveway: the head is row %(m)s.",
    "audit.head.gone": "The head of the log is gone from the database.",
    "audit.head.other": "The head's hash is not that of row %(n)s.",
    "audit.emptied": "The log is empty, but there are %(what)s: it was emptied, or another one was put in its place.",
    # Its anchors
    "audit.anchors.order": "The anchors in %(path)s are out of order at row %(n)s.",
    "audit.anchors.broken": "Line %(n)s of %(path)s is not an anchor. What follows it was not compared.",
    "audit.anchors.lost": "%(path)s has lost anchors: row %(n)s was anchored and is not in it any more.",
    "audit.anchors.gone": "%(path)s is gone: row %(n)s was anchored in it.",
    "audit.anchors.never": "No anchor was ever written to %(path)s; the periodic task `audit anchor` does not run.",
    "audit.anchors.not_yet": "There is no anchor in %(path)s yet; one is written every minute.",
    "audit.unproven": (
        "Not proved outside the database: rows after row %(n)s, up to row %(row)s (%(m)s in all). Last anchor: "
        "%(moment)s UTC."
    ),
    # Its triggers
    "audit.trigger.gone": "The trigger %(name)s that guards the log is not there or switched off.",
    "audit.trigger.changed": (
        "The trigger %(name)s that guards the log is not the one that Giveway made: it does something else."
    ),
    "audit.trigger.strange": "The trigger %(name)s on the log is none of Giveway's.",
}

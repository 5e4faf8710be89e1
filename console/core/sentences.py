"""The lines of what differs between two documents, as an audit row lists it (see `scheduler.model.sentence`)."""

SENTENCES: dict[str, str] = {
    "change.added": "%(path)s: added %(value)s",
    "change.removed": "%(path)s: removed %(value)s",
    "change.changed": "%(path)s: %(before)s → %(after)s",
    "change.more": "and %(n)s more, not listed",
}

"""The lines of what is said of processors that stand out (see `scheduler.model.sentence`)."""

SENTENCES: dict[str, str] = {
    "power.far": "%(node)s, %(resource)s %(device)s, is %(n)s %% slower than the middle of its %(others)s siblings.",
    "power.jumped.up": (
        "%(node)s, %(resource)s %(device)s, has become %(n)s %% slower: %(now)s s instead of %(before)s s."
    ),
    "power.jumped.down": (
        "%(node)s, %(resource)s %(device)s, has become %(n)s %% faster: %(now)s s instead of %(before)s s."
    ),
    "power.ordinary": "A later figure is ordinary: %(now)s s.",
}

"""What audit rows say of how accounts came to be (see `scheduler.model.sentence`)."""

SENTENCES: dict[str, str] = {
    "setup.first": "The first administrator, with the one-time code of the server.",
}

"""How a job says, in its comment, that it has saved its state: a new word `ckpt:TEXT`."""

WORD = "ckpt:"
"""How the word of a comment begins that acknowledges a checkpoint."""
LONGEST_SAVED = 200


def saved_word(before: str, after: str) -> str:
    """What the last new word `ckpt:TEXT` of a comment says; empty when there is none."""
    known = set(before.split())
    told = [word for word in after.split() if word.startswith(WORD) and word not in known]
    return cleaned(told[-1].removeprefix(WORD)) if told else ""


def cleaned(text: str) -> str:
    """A job's own words as they may be stored: printable, one line, cut."""
    return "".join(c if c.isprintable() else " " for c in text).strip()[:LONGEST_SAVED]

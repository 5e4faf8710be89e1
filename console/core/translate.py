"""A sentence in the reader's language: data by its line's translation, text of before by the reader of old rows."""

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext

from console.core import old_sentences
from console.core.l10n_format import amounts, duration, names, names_and_more, set_in_type
from scheduler.model.sentence import Held, Listed, Param, Seconds, Sentence, line_of


def resaid(text: str) -> str | None:
    """The text in the reader's language; itself where that is English; None when it is nobody's sentence."""
    if not text or (get_language() or "en").startswith("en"):
        return text
    if isinstance(text, Sentence):
        return said(text)
    known = old_sentences.read(text)
    return None if known is None else set_in_type(known)


def resay(text: str) -> str:
    """The same for a sentence within other text: what is nobody's sentence stays as it is."""
    known = resaid(text)
    return text if known is None else known


def resay_marked(text: str) -> str | SafeString:
    """The same for a page: what stays English says so, for whoever reads the page aloud."""
    known = resaid(text)
    return format_html('<span lang="en">{}</span>', text) if known is None else known


def holding_back(explain: str) -> str:
    """What keeps a job that may not start yet, in the reader's language: the part of its explanation that says so.

    Empty where something else is explained, and in what was written before sentences were data.
    """
    if not isinstance(explain, Sentence) or explain.code != "blocked":
        return ""
    return set_in_type(_param(explain.params["why"]))


def said(sentence: Sentence) -> str:
    """A sentence in the reader's language: its line's translation, with its parameters said in that language too."""
    return set_in_type(_put_together(sentence))


def _put_together(sentence: Sentence) -> str:
    """The same before full-width marks have taken their spaces."""
    if sentence.code == "told":
        return resay(str(sentence))
    words = {name: _param(value) for name, value in sentence.params.items()}
    return gettext(line_of(sentence.code)) % words


def _param(value: Param) -> str:
    match value:
        case Sentence():
            return _put_together(value)
        case Seconds():
            return duration(value)
        case Held():
            return amounts(value)
        case Listed():
            every = [_param(each) for each in value]
            return names_and_more(every, value.more) if value.more else names(every, limit=len(every))
        case _:
            return str(value)

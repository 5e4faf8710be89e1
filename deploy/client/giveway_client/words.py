"""In which language the command speaks: English, or Chinese where the locale is Chinese.

`_` is for whole sentences with named places: `_("No jobs of %(user)s.") % {"user": …}`. Who uses the package from
Python is not asked for a locale: it stays English unless `use` is called.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from giveway_client.chinese import SENTENCES
from giveway_client.chinese_codes import CODES, OF_ARGPARSE

ENGLISH, CHINESE = "en", "zh-hans"
_FIRST_OF = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The first that is set counts, as everywhere (locale(7))."""
_used = [ENGLISH]
IN_FULL = {"nothing_lower_runs": "nobody who runs here makes room for it"}
"""Codes whose bare words would say something else than the pages do."""


def language_of(environment: Mapping[str, str]) -> str:
    """What the locale of a shell asks for."""
    locale = next((value for name in _FIRST_OF if (value := environment.get(name))), "")
    return CHINESE if locale.lower().startswith("zh") else ENGLISH


def use(language: str) -> None:
    """Speak it from now on; what `argparse` says by itself, too: it looks its words up by these two names."""
    _used[:] = [language]
    argparse._ = _of_argparse  # type: ignore[attr-defined]
    argparse.ngettext = _many_of_argparse  # type: ignore[attr-defined]


def used() -> str:
    """The language that is spoken."""
    return _used[0]


def _(sentence: str) -> str:
    """The sentence in the language that is spoken."""
    return sentence if used() == ENGLISH else SENTENCES.get(sentence, sentence)


def coded(code: str) -> str:
    """A word that the API gives for programs (`plan_running`), as people read it."""
    spaced = IN_FULL.get(code) or code.replace("_", " ")
    return spaced if used() == ENGLISH else CODES.get(code, spaced)


def in_a_row(names: list[str]) -> str:
    """`a, b, c`."""
    return ("\N{IDEOGRAPHIC COMMA}" if used() == CHINESE else ", ").join(names)


def _of_argparse(sentence: str) -> str:
    return sentence if used() == ENGLISH else OF_ARGPARSE.get(sentence, sentence)


def _many_of_argparse(one: str, many: str, count: int) -> str:
    return _of_argparse(one if count == 1 else many)

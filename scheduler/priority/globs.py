"""Shell-style patterns held against names, all of a list at once: `*`, `?`, `[a-c]`, `[!a-c]`, capitals counting.

A name costs as many steps as it has letters, whatever the patterns are: no pattern is tried after the other, and none
backtracks. The patterns stand one after the other in the bits of one number, a bit for each place between two of their
letters; the bits that are set are the places that the name's letters so far lead to. A letter moves them all at once.
(The Shift-And method of Baeza-Yates and Gonnet, with a loop where a star stands.) What was asked is remembered.
"""

import re
from collections.abc import Iterator
from fnmatch import translate
from functools import lru_cache

_REMEMBERED = 20_000
"""Names of which each list keeps the answer. Names come again in every cycle."""
_LISTS = 65_536
"""Lists that are kept ready: one for each project, some for each partition."""
_SPECIAL = re.compile(r"[*?\[]")


class Globs:
    """A list of patterns, ready to match."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns
        self._plain: dict[str, list[int]] = {}
        self._letters: dict[str, int] = {}
        self._classes: list[tuple[re.Pattern[str], int]] = []
        self._any = self._loops = self._starts = 0
        self._ends: dict[int, int] = {}
        self._masks: dict[str, int] = {}
        self._answers: dict[str, tuple[int, ...]] = {}
        place = 0
        for number, pattern in enumerate(patterns):
            if _SPECIAL.search(pattern):
                place = self._lay(pattern, number, place)
            else:
                self._plain.setdefault(pattern, []).append(number)
        self._accepting = sum(1 << place for place in self._ends)

    def fitting(self, name: str) -> tuple[int, ...]:
        """The numbers of the patterns that fit the whole name, in the order of the list."""
        answer = self._answers.get(name)
        if answer is None:
            if len(self._answers) >= _REMEMBERED:
                self._answers.clear()
            answer = self._answers[name] = tuple(sorted([*self._plain.get(name, ()), *self._wild(name)]))
        return answer

    def first(self, name: str) -> int | None:
        """The number of the first pattern that fits."""
        return next(iter(self.fitting(name)), None)

    def _lay(self, pattern: str, number: int, place: int) -> int:
        """Lay a pattern out from this place on; where the next one begins."""
        self._starts |= 1 << place
        for atom in _atoms(pattern):
            bit = 1 << place
            if atom == "*":
                self._loops |= bit
                continue
            if atom == "?":
                self._any |= bit
            elif len(atom) > 1:
                self._classes.append((re.compile(translate(atom)), bit))
            else:
                self._letters[atom] = self._letters.get(atom, 0) | bit
            place += 1
        self._ends[place] = number
        return place + 1

    def _wild(self, name: str) -> Iterator[int]:
        places = self._starts
        for letter in name:
            if not places:
                return
            mask = self._masks.get(letter)
            if mask is None:
                mask = self._masks[letter] = self._mask(letter)
            places = (places & mask) << 1 | places & self._loops
        reached = places & self._accepting
        while reached:
            last = reached.bit_length() - 1
            yield self._ends[last]
            reached ^= 1 << last

    def _mask(self, letter: str) -> int:
        """The places from which this letter leads on."""
        mask = self._any | self._letters.get(letter, 0)
        for regex, bit in self._classes:
            if regex.match(letter):
                mask |= bit
        return mask


def _atoms(pattern: str) -> Iterator[str]:
    """Letters, `*`, `?` and classes; a `[` that nothing closes is a letter."""
    at = 0
    while at < len(pattern):
        end = _class_end(pattern, at) if pattern[at] == "[" else 0
        if end:
            yield pattern[at:end]
            at = end
        else:
            yield pattern[at]
            at += 1


def _class_end(pattern: str, at: int) -> int:
    """Where the class that begins here is over; 0 when nothing closes it."""
    begin = at + 1
    if pattern[begin : begin + 1] == "!":
        begin += 1
    return pattern.find("]", begin + 1) + 1


@lru_cache(maxsize=_LISTS)
def globs(patterns: tuple[str, ...]) -> Globs:
    """The list, made ready once and kept: as long as a policy or project stays what it is, the same one."""
    return Globs(patterns)

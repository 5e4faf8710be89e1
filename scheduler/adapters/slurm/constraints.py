"""`--constraint` as squeue prints it, decoded into what a `Request` can say; what it cannot say is not understood.

What was tried with 22.05, 24.11 and 26.05, which all do the same:

- `a&b|c` is read from the left to the right, without precedence: `x|a&y` is `(x|a)&y`. Parentheses are not nested.
- `[a|b]`: all nodes have the same one of them. What stands beside it with `&` counts for every node.
- `[a*2&b*1]`: so many nodes with each; further nodes have any of them. What stands beside it counts for some of them
  only, and after `a*2` alone further nodes may be any: neither can be planned for.

Total: whatever stands there, an answer comes back, never an exception.
"""

import re
from dataclasses import dataclass, replace

Sets = tuple[frozenset[str], ...]
"""Sets of features of which one will do."""

MOST_SETS = 64
"""A constraint that means more is not planned for: it could be written to make plans slow."""
_WORD = re.compile(r"[\w.:=+-]+|[][&|,()]|\*\d+")
_OPERATORS = frozenset("&|,")
_EVERY: Sets = (frozenset(),)


@dataclass(frozen=True, slots=True)
class Constraint:
    """What the nodes must have: all of `features`, and as in `Request`. Not `understood`: it says more than that."""

    features: frozenset[str] = frozenset()
    any_of: Sets = ()
    same_of: Sets = ()
    counted: tuple[tuple[int, frozenset[str]], ...] = ()
    understood: bool = True

    def on(self, nodes: int) -> "Constraint":
        """The same for so many nodes (0: any number)."""
        if self.counted:
            if sum(count for count, _ in self.counted) != nodes:
                return ODD
            (_, features), *others = self.counted
            return self if others else Constraint(features)
        if self.same_of and nodes == 1:
            # On one node it is the same as any of them; what any of them has beside is there already.
            return _of(_both(self.any_of or _EVERY, self.same_of), self.features)
        return self


ODD = Constraint(understood=False)


class _OddError(ValueError):
    """It is not written as it should be, or says what is not planned for."""


@dataclass(slots=True)
class _Words:
    """The words that are left."""

    left: list[str]

    def take(self) -> str:
        """The next one."""
        if not self.left:
            raise _OddError
        return self.left.pop()

    def has(self, *words: str) -> bool:
        """Whether the next one is one of these; then it is taken."""
        found = bool(self.left) and self.left[-1] in words
        if found:
            self.left.pop()
        return found


def decode(text: str) -> Constraint:
    """The constraint in Slurm's words; empty where there is none."""
    if not text:
        return Constraint()
    words = _WORD.findall(text)
    if "".join(words) != text:
        return ODD
    try:
        return _constraint(_Words(words[::-1]))
    except _OddError:
        return ODD


def _constraint(words: _Words) -> Constraint:
    """The whole of it."""
    sets, bracket, ored = _EVERY, None, False
    operator = "&"
    while True:
        if words.has("["):
            if bracket:
                raise _OddError
            bracket = _bracket(words)
        else:
            found, count = _term(words)
            if count:
                return _alone(found, count, words, first=sets is _EVERY and not bracket)
            sets = _joined(sets, operator, found)
        if not words.left:
            break
        operator = words.take()
        ored = ored or operator == "|"
        if operator not in _OPERATORS:
            raise _OddError
    if bracket and (ored or (bracket.counted and sets is not _EVERY)):
        raise _OddError
    plain = _of(sets)
    return replace(bracket, features=plain.features, any_of=plain.any_of) if bracket else plain


def _alone(found: Sets, count: int, words: _Words, *, first: bool) -> Constraint:
    """`a*2`, which is not planned for beside others."""
    if words.left or not first or len(found) > 1:
        raise _OddError
    return Constraint(counted=((count, found[0]),))


def _bracket(words: _Words) -> Constraint:
    """`[a|b]`, `[(a&b)*2&c*1]`: what stands behind the first bracket."""
    parts: list[tuple[Sets, int]] = []
    operators: set[str] = set()
    while not parts or not words.has("]"):
        if parts:
            operators.add(words.take())
        parts.append(_term(words))
    if operators <= {"&", ","} and all(count for _, count in parts):
        if any(len(sets) > 1 for sets, _ in parts):
            raise _OddError
        return Constraint(counted=tuple([(count, sets[0]) for sets, count in parts]))
    if operators != {"|"} or any(count for _, count in parts):
        raise _OddError
    return Constraint(same_of=_fewer(tuple([one for sets, _ in parts for one in sets])))


def _term(words: _Words) -> tuple[Sets, int]:
    """A feature or a group in parentheses, and how many nodes are to have it (0: it does not say)."""
    word = words.take()
    if word == "(":
        sets = _group(words)
    elif word[0] in "[]&|,()*":
        raise _OddError
    else:
        sets = (frozenset({word}),)
    if not words.left or not words.left[-1].startswith("*"):
        return sets, 0
    count = int(words.take()[1:9])
    if not count:
        raise _OddError
    return sets, count


def _group(words: _Words) -> Sets:
    """What stands behind a parenthesis."""
    sets, operator = _EVERY, "&"
    while True:
        word = words.take()
        if word[0] in "[]&|,()*":
            raise _OddError
        sets = _joined(sets, operator, (frozenset({word}),))
        if words.has(")"):
            return sets
        operator = words.take()
        if operator not in _OPERATORS:
            raise _OddError


def _joined(before: Sets, operator: str, found: Sets) -> Sets:
    return _fewer(before + found) if operator == "|" else _both(before, found)


def _both(one: Sets, other: Sets) -> Sets:
    return _fewer(tuple([mine | theirs for mine in one for theirs in other]))


def _fewer(sets: Sets) -> Sets:
    """Without those that ask for more than another one."""
    if len(sets) > MOST_SETS:
        raise _OddError
    least = dict.fromkeys(one for one in sets if not any(other < one for other in sets))
    return tuple(least)


def _of(sets: Sets, features: frozenset[str] = frozenset()) -> Constraint:
    """What all the sets have, and what is left of each."""
    common = frozenset.intersection(*sets)
    rest = tuple([one - common for one in sets])
    return Constraint(features | common, () if len(sets) == 1 else rest)

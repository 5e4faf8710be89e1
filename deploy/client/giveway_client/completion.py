"""Completion for bash and zsh: both ask the command itself (`giveway complete-words …`) what may come next."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator

from giveway_client.client import Giveway
from giveway_client.errors import GivewayError
from giveway_client.kept import current_login

PATIENCE_S = 2.0
MOST = 200
HARMLESS = re.compile(r"[\w.@:+][\w.@:+-]*")
"""A name from the cluster that is put into somebody's command line holds nothing that a shell or we would obey."""

BASH = """\
# giveway for bash: source <(giveway completion bash)
_giveway() {
    local IFS=$'\\n'
    mapfile -t COMPREPLY < <(giveway complete-words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _giveway giveway
"""
ZSH = """\
#compdef giveway
# giveway for zsh: source <(giveway completion zsh)
_giveway() {
    local -a found
    found=("${(@f)$(giveway complete-words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    compadd -- $found
}
compdef _giveway giveway
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH}


def candidates(parser: argparse.ArgumentParser, words: list[str]) -> list[str]:
    """What may stand where the last of the words, begun or empty, stands."""
    *before, begun = words or [""]
    found = [word for word in _possible(parser, before, begun) if word.startswith(begun)]
    return sorted(set(found))


def _possible(parser: argparse.ArgumentParser, before: list[str], begun: str) -> Iterator[str]:
    parser, rest = _inner(parser, before)
    options = {name: action for action in parser._actions for name in action.option_strings}  # noqa: SLF001
    last = options.get(before[-1]) if before else None
    if last is not None and last.nargs != 0:
        yield from _values(last)
        return
    if begun.startswith("-"):
        yield from options
        return
    places = [action for action in parser._actions if not action.option_strings]  # noqa: SLF001
    given = _positionals(rest, options)
    if given < len(places):
        yield from _values(places[given])


def _inner(parser: argparse.ArgumentParser, words: list[str]) -> tuple[argparse.ArgumentParser, list[str]]:
    """The parser of the command that the words have come to, and the words after its name."""
    for at, word in enumerate(words):
        for action in parser._actions:  # noqa: SLF001
            if isinstance(action, argparse._SubParsersAction) and word in action.choices:  # noqa: SLF001
                return _inner(action.choices[word], words[at + 1 :])
    return parser, words


def _positionals(words: list[str], options: dict[str, argparse.Action]) -> int:
    """How many of the words are neither an option nor its value."""
    count, skip = 0, False
    for word in words:
        if skip:
            skip = False
        elif word in options:
            skip = options[word].nargs != 0
        elif not word.startswith("-"):
            count += 1
    return count


def _values(action: argparse.Action) -> Iterator[str]:
    if action.choices is not None:
        yield from map(str, action.choices)
    elif str(action.metavar) in NAMED:
        yield from _asked(NAMED[str(action.metavar)])


def _asked(ask: Callable[[Giveway], Iterator[str]]) -> list[str]:
    """From the console, when it answers at once; nobody wants an error in the middle of a line."""
    try:
        login = current_login()
        found = ask(Giveway(login.url, login.token, timeout=PATIENCE_S, tries=1))
        return [name for name in found if HARMLESS.fullmatch(name)]
    except GivewayError:
        return []


def _my_jobs(console: Giveway) -> Iterator[str]:
    mine = {"user": console.account()["cluster_user"], "phase": ["pending", "running"]}
    return (job.job_id for job in console.jobs(most=MOST, **mine))


def _asked_plans(console: Giveway) -> Iterator[str]:
    return (str(plan.id) for plan in console.plans(most=MOST, state="proposed", enforcement="approve"))


NAMED: dict[str, Callable[[Giveway], Iterator[str]]] = {
    "JOBID": _my_jobs,
    "PLAN": _asked_plans,
    "PROJECT": lambda console: (each.code for each in console.projects()),
    "PARTITION": lambda console: (each.name for each in console.partitions()),
}
"""What stands in the place of an argument of this name."""

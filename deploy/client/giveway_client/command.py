"""`giveway`: why is my job waiting, and what is to be done about it? docs/giveway-command.md says more."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import Any, NoReturn

from giveway_client import asking, completion, starting, steering, supposing
from giveway_client.errors import GivewayError
from giveway_client.show import shown
from giveway_client.words import CHINESE, ENGLISH, _, language_of, use, used

INTERRUPTED = 130
_HEADING = re.compile(r"^([\u4e00-\u9fff]+):$", re.MULTILINE)


class Parser(argparse.ArgumentParser):
    """Errors are one line here too."""

    def format_help(self) -> str:
        """With the mark of the language behind the headings, which `argparse` ends in a colon by itself."""
        said = super().format_help()
        return _HEADING.sub("\\1\N{FULLWIDTH COLON}", said) if used() == CHINESE else said

    def error(self, message: str) -> NoReturn:
        said = _("giveway: %(message)s (giveway --help tells more)") % {"message": shown(message)}
        self.exit(2, f"{said}\n")


def parser() -> Parser:
    """The whole command line."""
    top = Parser(prog="giveway", description=_("Ask Giveway about the jobs on this cluster, and steer it."))
    commands = top.add_subparsers(title=_("commands"), required=True, metavar="COMMAND", parser_class=Parser)
    _ask(commands)
    _steer(commands)
    _suppose(commands)
    _shell(commands)
    return top


def _add(commands: Any, name: str, run: Any, *, with_json: bool = True) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=_(run.__doc__), description=_(run.__doc__)
    )
    command.set_defaults(run=run)
    if with_json:
        command.add_argument("--json", action="store_true", help=_("the answer as JSON, for scripts"))
    return command


def _ask(commands: Any) -> None:
    why = _add(commands, "why", asking.why)
    why.add_argument("job", metavar="JOBID", help=_("for example 4711, or 41_2 of an array"))
    _when(commands)
    mine = _add(commands, "jobs", asking.jobs)
    mine.add_argument("--user", help=_("of somebody else"))
    mine.add_argument("--partition", metavar="PARTITION", help=_("in this partition only"))
    mine.add_argument("--all", action="store_true", help=_("also those that ended within the last days"))
    used = _add(commands, "quotas", asking.quotas)
    used.add_argument("partition", metavar="PARTITION")
    used.add_argument("--user", help=_("of this user only"))
    enter = _add(commands, "login", asking.login, with_json=False)
    enter.add_argument("--url", help=_("the console's address (or GIVEWAY_URL)"))
    enter.add_argument("--user", help=_("your user name there"))
    enter.add_argument(
        "--password-stdin", action="store_true", help=_("read the password from standard input")
    )
    enter.add_argument("--plain-http", action="store_true", help=_("send the password without encryption"))
    _add(commands, "checkpoint-token", asking.checkpoint_token).add_argument("job", metavar="JOBID")
    saved = _add(commands, "saved", asking.saved)
    saved.add_argument("text", metavar="TEXT", help=_("what was saved: epoch=10"))


def _when(commands: Any) -> None:
    when = _add(commands, "when", starting.when)
    when.add_argument(
        "job", metavar="JOBID", nargs="?", help=_("a job that waits; else of one not submitted yet:")
    )
    when.add_argument("-p", "--partition", metavar="PARTITION", help=_("where it would be submitted"))
    when.add_argument("-N", "--nodes", type=int, metavar="N", help=_("on so many nodes (as few as can be)"))
    when.add_argument("--cpus", type=int, metavar="N", help=_("so many CPUs in all (one on each node)"))
    when.add_argument("--gpus", type=int, metavar="N", help=_("so many GPUs in all (none)"))
    when.add_argument("--mem", type=int, metavar="MB", help=_("so much memory on each node (any)"))
    when.add_argument(
        "-t", "--time", metavar="TIME", help=_("its time limit, as for sbatch: 90, 2:00:00, 1-12")
    )
    when.add_argument("-A", "--account", metavar="ACCOUNT", default="", help=_("for this account"))


def _steer(commands: Any) -> None:
    listed = _add(commands, "plans", steering.plans)
    listed.add_argument("--waiting", action="store_true", help=_("those that wait for somebody's decision"))
    listed.add_argument("--partition", metavar="PARTITION", help=_("of this partition"))
    listed.add_argument("--state", help=_("proposed, executing, verified, undone, …"))
    listed.add_argument("--limit", type=int, default=20, metavar="N", help=_("how many at most (20)"))
    _add(commands, "plan", steering.plan).add_argument("plan", type=int, metavar="PLAN")
    for name, run in (("approve", steering.approve), ("reject", steering.reject)):
        decide = _add(commands, name, run)
        decide.add_argument("plan", type=int, metavar="PLAN")
        decide.add_argument("--reason", required=True, help=_("why; it stands in the audit log"))
        decide.add_argument(
            "--seen", metavar="MARK", help=_("only if it is still what `giveway plan` showed")
        )
        decide.add_argument("--yes", action="store_true", help=_("do not ask"))
    listed = _add(commands, "projects", steering.projects)
    inner = listed.add_subparsers(title=_("commands"), metavar="set", parser_class=Parser)
    change = _add(inner, "set", steering.set_project)
    change.add_argument("project", metavar="PROJECT")
    change.add_argument("settings", nargs="+", metavar="KEY=VALUE")
    change.add_argument("--reason", required=True, help=_("why; it stands in the audit log"))
    for name, run in (("pause", steering.pause), ("resume", steering.resume)):
        switch = _add(commands, name, run)
        switch.add_argument("partition", nargs="?", metavar="PARTITION")
        switch.add_argument("--all", action="store_true", help=_("everything"))
        if run is steering.pause:
            switch.add_argument("--reason", default="", help=_("why, if you like to say"))


def _suppose(commands: Any) -> None:
    told = commands.add_parser("what-if", help=_("What a change would do, before it is made."))
    inner = told.add_subparsers(title=_("commands"), required=True, metavar="WHAT", parser_class=Parser)
    for name, run in (("project", supposing.project), ("policy", supposing.policy)):
        command = _add(inner, name, run)
        if run is supposing.project:
            command.add_argument("project", metavar="PROJECT")
            command.add_argument(
                "settings", nargs="+", metavar="KEY=VALUE", help="urgency=5, members=ann,bob"
            )
        else:
            command.add_argument("partition", metavar="PARTITION")
            command.add_argument(
                "settings", nargs="*", metavar="KEY=VALUE", help='mode=task, quotas={"P0":2}'
            )
            command.add_argument("--draft", type=int, metavar="N", help=_("a draft of it, by its number"))
        command.add_argument(
            "--days", type=int, metavar="N", help=_("over the last days: waits for the worker")
        )
        command.add_argument("--no-wait", action="store_true", help=_("see later: giveway study N"))
    command = _add(commands, "study", supposing.study)
    command.add_argument("study", type=int, metavar="N")
    command.add_argument("--cancel", action="store_true", help=_("it is not wanted any more"))


def _shell(commands: Any) -> None:
    scripts = _add(commands, "completion", print_script, with_json=False)
    scripts.add_argument("shell", choices=sorted(completion.SCRIPTS))


def print_script(options: argparse.Namespace) -> None:
    """Completion for a shell: source <(giveway completion bash)."""
    print(completion.SCRIPTS[options.shell], end="")


def main() -> int:
    """0: done. 1: the console refuses. 2: wrong on this side. 3: no console. Else one line says what is wrong."""
    _open_streams()
    use(language_of(os.environ))
    if sys.argv[1:3] == ["complete-words", "--"]:  # for the scripts; the words are somebody's, begun or wrong
        print("\n".join(completion.candidates(parser(), sys.argv[3:])))
        return 0
    options = parser().parse_args()
    if getattr(options, "json", False):
        use(ENGLISH)  # for scripts: the same in every locale
    try:
        options.run(options)
        sys.stdout.flush()
    except GivewayError as error:
        print(f"giveway: {shown(' '.join(str(error).split()))}", file=sys.stderr)
        return error.exit_status
    except BrokenPipeError:  # giveway jobs | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # giveway jobs > a file, and its disk is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(
            f"giveway: {shown(_('the answer cannot be written: %(why)s') % {'why': error})}", file=sys.stderr
        )
        return GivewayError.exit_status
    except (KeyboardInterrupt, EOFError):
        print(file=sys.stderr)
        return INTERRUPTED
    return 0


def _open_streams() -> None:
    """Something to write to, also where the shell has closed it (>&-), or speaks no Unicode."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - till the end
        getattr(sys, name).reconfigure(errors="replace")


def run() -> NoReturn:
    """Where the one file begins."""
    sys.exit(main())

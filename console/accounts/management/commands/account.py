"""`manage.py account`: accounts from the shell, the way to the first administrator."""

import getpass
import sys
from dataclasses import replace
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.accounts.models import Role, User
from console.accounts.services import AccountData, account_data, change_account, create_account
from console.core.shell import shell_actor


class Command(BaseCommand):
    """Add, change and list accounts; what is done is in the audit log."""

    help = "Add, change or list accounts of the console."

    def add_arguments(self, parser: CommandParser) -> None:
        """`add NAME`, `change NAME`, `list`."""
        commands = parser.add_subparsers(dest="command", required=True)
        add = commands.add_parser("add", help="Make an account; asks for a password unless told otherwise.")
        change = commands.add_parser("change", help="Change what is named; the rest stays.")
        commands.add_parser("list", help="One line per account.")
        for each in (add, change):
            each.add_argument("name")
            each.add_argument("--role", choices=Role.values)
            each.add_argument("--email")
            each.add_argument("--cluster-user", help="The user name on the cluster, if it is another.")
            each.add_argument("--reason", default="", help="For the audit log.")
            how = each.add_mutually_exclusive_group()
            how.add_argument(
                "--password-stdin", action="store_true", help="Read it from the first line of stdin."
            )
            how.add_argument(
                "--no-password" if each is add else "--password", action="store_true", dest="other_way"
            )
        active = change.add_mutually_exclusive_group()
        active.add_argument("--active", action="store_true", default=None, dest="active")
        active.add_argument("--inactive", action="store_false", dest="active")

    def handle(self, *, command: str, **options: Any) -> None:
        """Run one of the sub-commands."""
        try:
            getattr(self, f"_{command}")(options)
        except ValidationError as error:
            fields = [f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items()]
            raise CommandError("; ".join(fields), returncode=2) from None

    def _add(self, options: dict[str, Any]) -> None:
        password = None if options["other_way"] else _password(options["password_stdin"])
        user = create_account(
            actor=shell_actor(),
            username=options["name"],
            data=_changed(AccountData(), options),
            password=password,
            reason=options["reason"],
        )
        self.stdout.write(f"Made the account {user.username} ({user.get_role_display()}).")

    def _change(self, options: dict[str, Any]) -> None:
        user = User.objects.filter(username=options["name"]).first()
        if user is None:
            raise CommandError(f"There is no account {options['name']}.", returncode=2)
        wanted = options["password_stdin"] or options["other_way"]
        change_account(
            actor=shell_actor(),
            user=user,
            data=_changed(account_data(user), options),
            password=_password(options["password_stdin"]) if wanted else None,
            reason=options["reason"],
        )
        self.stdout.write(f"The account {user.username} is as you said.")

    def _list(self, options: dict[str, Any]) -> None:
        for user in User.objects.order_by("username"):
            state = "" if user.is_active else "  switched off"
            self.stdout.write(f"{user.username}  {user.role}{state}")


def _changed(data: AccountData, options: dict[str, Any]) -> AccountData:
    """`data` with what the command line names."""
    named = {
        key: options[key]
        for key in ("role", "email", "cluster_user", "active")
        if options.get(key) is not None
    }
    return replace(data, **named)


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\n")
    try:
        password, again = getpass.getpass("Password: "), getpass.getpass("Again: ")
    except EOFError:
        raise CommandError(
            "Nobody is there to type a password; --password-stdin reads it from a pipe.", returncode=2
        ) from None
    if again != password:
        raise CommandError("The two are not the same.", returncode=2)
    return password

"""Accounts from slurmdbd: what the real sacctmgr printed, what is hostile, and what is not there.

`associations.txt` is the answer of sacctmgr 22.05.8 with a slurmdbd of its own, to
`sacctmgr --noheader --parsable2 --readonly show associations cluster=dev format=Account%64,ParentName%64,User%64`,
after alpha and beta were made below physics, ann and bob put into alpha, bob into beta, and accounts of odd names
(`we|rd`, `<b>x</b>`, `a b`) added; a second cluster has accounts and users of its own.
"""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from scheduler.adapters.slurm import accounting
from scheduler.adapters.slurm.allowed import check
from scheduler.adapters.slurm.errors import CommandNotAllowedError
from scheduler.model.associations import Associations, SlurmAccount

RECORDED = (Path(__file__).parent / "recordings" / "22.05.8" / "associations.txt").read_text()
DBD = "AccountingStorageType   = accounting_storage/slurmdbd\nClusterName             = dev\n"
Look = Callable[..., Associations]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Looks with stand-ins for the two programs; `asked` holds what sacctmgr was asked."""

    def run(
        config: str = DBD, accounts: str = RECORDED, code: int = 0, timeout_s: float = 10
    ) -> Associations:
        (tmp_path / "config").write_text(config)
        (tmp_path / "accounts").write_text(accounts)
        programs = {
            "scontrol": f"cat {tmp_path}/config",
            "sacctmgr": f'echo "$@" >{tmp_path}/asked; cat {tmp_path}/accounts; exit {code}',
        }
        for name, does in programs.items():
            program = tmp_path / name
            program.write_text(f"#!/bin/sh\n{does}\n")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return accounting.look({"PATH": f"{tmp_path}:/usr/bin:/bin"}, timeout_s)

    return run


def test_what_the_real_sacctmgr_prints(look: Look, tmp_path: Path) -> None:
    found = look()
    assert found == Associations(
        kept=True,
        accounts=(
            SlurmAccount("<b>x</b>"),
            SlurmAccount("a b"),
            SlurmAccount("alpha", ("ann", "bob"), "physics"),
            SlurmAccount("beta", ("bob",), "physics"),
            SlurmAccount("empty"),
            SlurmAccount("physics"),
        ),
        fault="1 lines of sacctmgr's answer could not be read",
    )
    assert "show associations cluster=dev" in (tmp_path / "asked").read_text()


def test_without_slurmdbd_sacctmgr_is_not_asked(look: Look, tmp_path: Path) -> None:
    for config in (DBD.replace("slurmdbd", "none"), ""):
        assert look(config) == Associations(kept=False)
    assert not (tmp_path / "asked").exists()


def test_what_goes_wrong_is_told_and_not_raised(look: Look) -> None:
    found = look(accounts="", code=1)
    assert found.kept and "sacctmgr" in found.fault and found.accounts == ()
    assert "allow-list" not in look(accounts="x" * 10).fault
    assert accounting.look({"PATH": "/nowhere"}, 1).fault


def test_hostile_lines_are_left_out() -> None:
    hostile = [
        "a|b",
        "|root|ann",
        "a\x1b[2J|root|ann",
        f"{'n' * 65}|root|",
        "a\u2028b||ann",
        "ok|root|",
        "ok||\x07",
    ]
    found = accounting.decode("\n".join(hostile))
    assert [account.name for account in found.accounts] == ["ok"] and found.accounts[0].users == ()
    assert found.fault.startswith("6 lines"), found.fault


@pytest.mark.parametrize("argument", ["cluster=a b", "cluster=", "delete", "-i", "format=Account user"])
def test_nothing_else_is_asked_of_sacctmgr(argument: str) -> None:
    with pytest.raises(CommandNotAllowedError):
        check("sacctmgr", ["--readonly", "show", "associations", argument])
    with pytest.raises(CommandNotAllowedError):
        check("sacctmgr", ["delete", "account", "x"])
